package models

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/attn-go/attn/models/internal/inventory"
	"github.com/attn-go/attn/models/internal/tensors"
)

// A Report is what [Inspect] finds.
type Report struct {
	Description
	Types        []Type  // of the tensors, the one with most bytes first
	FileBytes    int64   // of the tensors in the files
	Sizes        []Size  // of the model, such as its layers, in an order for readers
	Memory       int64   // bytes that weights take once they are loaded
	TokenMemory  int64   // bytes that a token of a text takes in a cache of keys and values of float32; 0 without one
	Tokenizer    error   // why texts cannot be turned into tokens, or nil
	Template     error   // of generators: why there are no conversations, or nil
	Problems     []error // that loading the model would give, 100 at most
	MoreProblems int     // that Problems has no room for

	textMemory func(tokens int) int64
}

// TextMemory returns how many bytes a text of so many tokens takes at most in a cache of keys and
// values of float32: TokenMemory for each, or less where layers have a window, of which they keep
// what later tokens see. It is 0 without a cache.
func (r *Report) TextMemory(tokens int) int64 {
	if r.textMemory == nil {
		return 0
	}
	return r.textMemory(tokens)
}

// A Size is a number of a model's description.
type Size struct {
	Name  string
	Value int
}

// String returns the size as NAME VALUE.
func (s Size) String() string { return fmt.Sprintf("%s %d", s.Name, s.Value) }

// A Type is a type of tensors of a model.
type Type struct {
	Name     string
	Tensors  int
	Elements int64
	Bytes    int64
}

// Inspect says what a model is, and what loading it would need and lack, without reading its
// weights. The error comes from [Describe]; Problems has all else that is wrong.
func Inspect(model string) (*Report, error) {
	d, err := Describe(model)
	if err != nil {
		return nil, err
	}
	r := &Report{Description: *d}
	var v *inventory.Inventory
	if err = r.types(); err == nil {
		v, err = d.inventory()
	}
	if err != nil {
		r.Problems = []error{err}
		return r, nil
	}
	for _, s := range v.Sizes {
		r.Sizes = append(r.Sizes, Size(s))
	}
	r.Memory, r.TokenMemory, r.Tokenizer, r.Template = v.Memory, v.TokenMemory, v.Tokenizer, v.Template
	r.Problems, r.MoreProblems, r.textMemory = v.Problems, v.MoreProblems, v.TextMemory
	return r, nil
}

func (d *Description) inventory() (*inventory.Inventory, error) {
	inspect := inventory.Encoder
	switch d.family {
	case decoders:
		inspect = inventory.Decoder
	case tables:
		inspect = inventory.Static
	}
	return inspect(d.Path, string(d.Kind))
}

// types adds up the tensors of the files.
func (r *Report) types() error {
	all := map[string]*Type{}
	add := func(name string, elements, bytes int64) {
		t := all[name]
		if t == nil {
			t = &Type{Name: name}
			all[name] = t
		}
		t.Tensors++
		t.Elements += elements
		t.Bytes += bytes
		r.FileBytes += bytes
	}
	f, err := tensors.Open(r.source)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, name := range f.Names() {
		info, _ := f.Info(name)
		add(info.Name, int64(inventory.Elements(info.Shape)), info.Bytes)
	}
	for _, t := range all {
		r.Types = append(r.Types, *t)
	}
	slices.SortFunc(r.Types, func(a, b Type) int { return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Name, b.Name)) })
	return nil
}
