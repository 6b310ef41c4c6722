package equal

import "github.com/attn-go/attn/gen/prove/expr"

// A Domain limits the values of a word, where a contract or an argument says so.
type Domain struct {
	Name string
	Has  func(v uint64) bool
	InC  string // the same of x
}

// NotPositive are the binary32 of at most 0, and NaN: a score less its maximum.
var NotPositive = &Domain{"≤0",
	func(v uint64) bool { return v>>31 == 1 || v == 0 || v&0x7fffffff > 0x7f800000 },
	"x>>31 == 1 || x == 0 || (x & 0x7fffffffu) > 0x7f800000u"}

// Code are the binary32 of less than 127.5 in magnitude: a number divided by the scale of a block.
var Code = &Domain{"<127.5",
	func(v uint64) bool { return v&0x7fffffff < 0x42ff0000 },
	"(x & 0x7fffffffu) < 0x42ff0000u"}

// NoNaN are the binary32 that are not negative, without NaN.
var NoNaN = &Domain{"≤inf",
	func(v uint64) bool { return v <= 0x7f800000 },
	"x <= 0x7f800000u"}

// Finite are the binary32 that are finite.
var Finite = &Domain{"finite",
	func(v uint64) bool { return v&0x7fffffff < 0x7f800000 },
	"(x & 0x7fffffffu) < 0x7f800000u"}

// Number are the binary32 without NaN.
var Number = &Domain{"number",
	func(v uint64) bool { return v&0x7fffffff <= 0x7f800000 },
	"(x & 0x7fffffffu) <= 0x7f800000u"}

// Tiny are the binary32 that become 0 when they are rounded to an integer.
var Tiny = &Domain{"tiny",
	func(v uint64) bool { return v&0x7fffffff < 0x3f000000 },
	"(x & 0x7fffffffu) < 0x3f000000u"}

// A Kind of a symbol says which samples it takes; all symbols of a call together must keep to its
// contract.
type Kind int

const (
	Any     Kind = iota
	Score        // at most the Maximum of the same sample, or NaN
	Maximum      // infinite in some samples
	Weight       // 0, or from 2^-126 to 1
)

// Suppose says what is known of words, and of which kind symbols are.
type Suppose struct {
	Domains map[*expr.Node]*Domain
	Kinds   map[*expr.Node]Kind
	Same    map[*expr.Node]*expr.Node // words that are the same by an argument
	Rules   []Rule

	// Given are words that others take the place of where a condition holds.
	Given map[*expr.Node]map[*expr.Node]*expr.Node
}

// A Rule puts a function of a word in the place of another one. A lemma shows that they are the
// same for all values in a domain.
type Rule struct {
	From, To, Of *expr.Node
	In           *Domain
	Bit          *expr.Node // a bit on which From seems to depend, too; nil for none
}

// cases returns the function for both values of the bit.
func (r Rule) cases(g *expr.Graph) []*expr.Node {
	if r.Bit == nil {
		return []*expr.Node{r.From}
	}
	var list []*expr.Node
	for _, b := range []bool{false, true} {
		list = append(list, g.Copy(r.From, map[*expr.Node]*expr.Node{r.Bit: g.Bool(b)}))
	}
	return list
}
