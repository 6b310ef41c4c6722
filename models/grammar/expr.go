package grammar

// An expr is a set of texts, as a tree. A grammar is a list of rules, each of which has one.
type expr interface{}

type (
	literal  string   // one text
	sequence []expr   // one after the other
	choice   []expr   // any of them; none is the empty set
	ref      int      // the texts of a rule
	repeat   struct { // as often as this
		of       expr
		min, max int // max negative for no limit
	}
)

// rule is a named set of texts.
type rule struct {
	name string
	is   expr
}

// optional is what may be left out.
func optional(e expr) expr { return repeat{e, 0, 1} }
