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

// A Kind of a symbol says which samples it takes; all symbols of a call together must keep to its
// contract.
type Kind int

const (
	Any     Kind = iota
	Score        // at most the Maximum of the same sample, or NaN
	Maximum      // infinite in some samples
)

// Suppose says what is known of words, and of which kind symbols are.
type Suppose struct {
	Domains map[*expr.Node]*Domain
	Kinds   map[*expr.Node]Kind
}
