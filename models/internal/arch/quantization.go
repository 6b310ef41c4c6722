package arch

import (
	"regexp"
	"slices"
	"strings"
)

// A Quantization says how a folder has the weights of linear layers, of which tensors beside them
// have scales.
type Quantization struct {
	Method  string // as config.json names it
	Schemes []Scheme
	Ignored Modules // whose weights are numbers
}

// A Scheme is how the weights of some modules lie.
type Scheme struct {
	Form    Form
	Bits    int  // of an integer
	Zeros   bool // integers have tensors of zero points; otherwise these are the middle code
	Offset  int  // what is added to zero points
	Sorted  bool // each input has the number of its group, in a tensor
	Modules Modules
	Others  bool // it is also for modules which no scheme names

	// Rows and Columns are the block of weights that share a scale, 0 for all of a matrix.
	Rows, Columns int
}

// A Form is the types of tensors and their order.
type Form uint8

// The forms. Beside the weights are scales: weight_scale_inv or weight_scale, or scales of GPTQ and
// AWQ.
const (
	Float8 Form = iota // weight has E4M3
	Int8               // weight has signed integers
	Packed             // weight_packed has integers; a word has neighbouring inputs
	GPTQ               // qweight, as linear.GPTQ has it
	AWQ                // qweight, as linear.AWQ has it
)

// Modules are the names of some modules.
type Modules struct {
	Names    []string
	Patterns []*regexp.Regexp // that match the beginning of a name
	Parts    bool             // a name stands also for modules in it, and for those whose name ends so
}

// Has tells whether a module belongs to them.
func (m *Modules) Has(module string) bool {
	return slices.ContainsFunc(m.Names, func(name string) bool {
		return module == name || m.Parts && (strings.HasPrefix(module, name+".") || strings.HasSuffix(module, "."+name))
	}) || slices.ContainsFunc(m.Patterns, func(p *regexp.Regexp) bool {
		at := p.FindStringIndex(module)
		return at != nil && at[0] == 0
	})
}

// Of returns the scheme of a module: the one that names it, or the others' scheme. It is nil if
// there is none.
func (q *Quantization) Of(module string) (other *Scheme) {
	for i := range q.Schemes {
		s := &q.Schemes[i]
		if s.Modules.Has(module) {
			return s
		}
		if s.Others {
			other = s
		}
	}
	return other
}
