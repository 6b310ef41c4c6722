package syntax

// A Node is an expression: any type that follows.
type Node interface{ isNode() }

type (
	// A Constant is a literal, or true, false or none.
	Constant struct{ Value any } // nil, bool, int64, float64 or string
	// A Variable is a name that is read.
	Variable struct{ Name string }
	// A List is a literal of a list or of a tuple.
	List struct {
		Items []Node
		Tuple bool
	}
	// A Dict is a literal of a mapping. It has as many keys as values.
	Dict struct{ Keys, Values []Node }

	// An Attribute is x.name.
	Attribute struct {
		Of   Node
		Name string
	}
	// An Item is x[key], or x.0.
	Item struct{ Of, Key Node }
	// A Slice is x[from:to:step], with nil where nothing is written.
	Slice struct{ Of, From, To, Step Node }

	// A Call is x(args).
	Call struct {
		Of   Node
		Args Args
	}
	// A Filter is x|name(args).
	Filter struct {
		Of   Node // nil in a filter block
		Name string
		Args Args
	}
	// A Test is "x is name(args)".
	Test struct {
		Of   Node
		Name string
		Args Args
	}

	// A Not is "not x".
	Not struct{ Of Node }
	// A Sign is -x or +x.
	Sign struct {
		Of       Node
		Negative bool
	}
	// A Logic is "x or y", or "x and y".
	Logic struct {
		Left, Right Node
		Or          bool
	}
	// A Choice is "x if y else z".
	Choice struct{ Cond, Yes, No Node } // No may be nil
	// A Binary is an operator between two values, as it is written.
	Binary struct {
		Op          string
		Left, Right Node
	}
	// A Chain is comparisons such as a < b < c, which has two operators: Binary's, "in" and "not
	// in".
	Chain struct {
		First Node
		Ops   []string
		Rest  []Node
	}
)

// Args are arguments of a call.
type Args struct {
	Positional   []Node
	Rest, Others Node // of *rest and **others, or nil
	Names        []string
	Named        []Node // as many
}

// A Statement is a part of a template.
type Statement struct {
	Line int // from 1
	Do   Doer
}

// A Doer is what a statement does: any type that follows.
type Doer interface{ isStatement() }

type (
	// An Output is text between tags.
	Output struct{ Text string }
	// A Printing is {{ x }}, or a block print of several expressions.
	Printing struct{ Of []Node }
	// A Branch is a block if: the first body is done whose condition is true, or Other.
	Branch struct {
		Conds  []Node
		Bodies [][]Statement
		Other  []Statement
	}
	// A Loop is a block for. Other is done if no iteration came to its end.
	Loop struct {
		To         Target
		Over, Cond Node // Cond may be nil
		Body       []Statement
		Other      []Statement
		Recursive  bool

		Frame, OtherFrame *Frame
	}
	// A Set is {% set to = of %}.
	Set struct {
		To Target
		Of Node
	}
	// A SetBlock sets a variable to what its body prints.
	SetBlock struct {
		To      Target
		Filters []Filter
		Body    []Statement
		Frame   *Frame
	}
	// A FilterBlock prints what filters make of what its body prints.
	FilterBlock struct {
		Filters []Filter
		Body    []Statement
		Frame   *Frame
	}
	// A With has variables of its own, as many as expressions.
	With struct {
		To   []Target
		Of   []Node
		Body []Statement

		Frame *Frame
	}
	// A Macro is a block macro, or the body of a block call.
	Macro struct {
		Name     string // "" of the body of a call block
		Names    []string
		Defaults []Node // of the last names
		Body     []Statement
		Frame    *Frame

		Varargs, Kwargs, Caller bool // whether it reads these
	}
	// A CallBlock calls a macro, which gets the body as caller.
	CallBlock struct {
		Caller *Macro
		Call   *Call
	}
	// A Leave is a break or a continue.
	Leave struct{ Next bool } // continue
	// A Scoped is a block whose variables end with it.
	Scoped struct {
		Body  []Statement
		Root  bool // whether it sees no more than the template's variables
		Frame *Frame
	}
	// A Missing is a block of jinja2 that is not here. It is an error when it is reached.
	Missing struct{ What string }
)

// A Target is what a value can be assigned to: any type that follows.
type Target interface{ isTarget() }

type (
	// A ToName is a variable.
	ToName string
	// A ToAttribute is an attribute of a namespace.
	ToAttribute struct{ Of, Name string }
	// A ToAll is several targets, for as many values.
	ToAll []Target
)

func (*Constant) isNode()  {}
func (*Variable) isNode()  {}
func (*List) isNode()      {}
func (*Dict) isNode()      {}
func (*Attribute) isNode() {}
func (*Item) isNode()      {}
func (*Slice) isNode()     {}
func (*Call) isNode()      {}
func (*Filter) isNode()    {}
func (*Test) isNode()      {}
func (*Not) isNode()       {}
func (*Sign) isNode()      {}
func (*Logic) isNode()     {}
func (*Choice) isNode()    {}
func (*Binary) isNode()    {}
func (*Chain) isNode()     {}

func (*Output) isStatement()      {}
func (*Printing) isStatement()    {}
func (*Branch) isStatement()      {}
func (*Loop) isStatement()        {}
func (*Set) isStatement()         {}
func (*SetBlock) isStatement()    {}
func (*FilterBlock) isStatement() {}
func (*With) isStatement()        {}
func (*Macro) isStatement()       {}
func (*CallBlock) isStatement()   {}
func (*Leave) isStatement()       {}
func (*Scoped) isStatement()      {}
func (*Missing) isStatement()     {}

func (ToName) isTarget()       {}
func (*ToAttribute) isTarget() {}
func (ToAll) isTarget()        {}
