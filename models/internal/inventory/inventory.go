// Package inventory has what can be told of a model without loading it: its sizes, its tensors, the
// memory that it will take, and what is missing. Packages encoder and decoder fill it in by the
// code that loads models, so that both know the same tensors.
package inventory

import "errors"

// An Inventory is what the files of a model have.
type Inventory struct {
	Sizes        []Size                 // of the model, such as its layers, in an order for readers
	Memory       int64                  // bytes that weights take once they are loaded
	TokenMemory  int64                  // bytes that a token of a text takes in a cache of keys and values of float32; 0 without one
	TextMemory   func(tokens int) int64 // bytes that a text of so many tokens takes there, fewer where layers have windows; nil without one
	Tokenizer    error                  // why texts cannot be turned into tokens, or nil
	Template     error                  // of generators: why there are no conversations, or nil
	Problems     []error
	MoreProblems int // that Problems has no room for
}

// A Size is a number of a model's description.
type Size struct {
	Name  string
	Value int
}

// Encoder, Decoder and Static are what packages encoder, decoder and static find in a model by the
// code that loads it, for package models, which has a door for users. Each of them sets its own. A
// kind is a models.Kind. An error says that files say too little for an Inventory.
var Encoder, Decoder, Static func(model, kind string) (*Inventory, error)

// mostProblems are those that an Inventory keeps: a file can say that it has more layers than that.
const mostProblems = 100

// errTooMany ends an inspection.
var errTooMany = errors.New("more problems than are listed")

// Problem adds an error that loading the model would give, if it is not nil. It returns an error if
// there have been so many that the rest need not be looked for.
func (v *Inventory) Problem(err error) error {
	switch {
	case err == nil:
	case len(v.Problems) < mostProblems:
		v.Problems = append(v.Problems, err)
	default:
		v.MoreProblems++
		return errTooMany
	}
	return nil
}

// Floats adds the memory of a tensor of float32.
func (v *Inventory) Floats(shape ...int) { v.Memory += 4 * int64(Elements(shape)) }

// Elements returns the product of the dimensions of a tensor that a file has, which fits an int.
func Elements(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// Size adds a size.
func (v *Inventory) Size(name string, value int) { v.Sizes = append(v.Sizes, Size{name, value}) }
