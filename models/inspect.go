package models

import (
	"cmp"
	"slices"

	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/encoder"
	"github.com/attn-go/attn/models/internal/tensors"
	"github.com/attn-go/attn/models/inventory"
	"github.com/attn-go/attn/models/static"
)

// A Report is what [Inspect] finds.
type Report struct {
	Description
	Types     []Type // of the tensors, the one with most bytes first
	FileBytes int64  // of the tensors in the files
	*inventory.Inventory
}

// A Type is a type of tensors of a model.
type Type struct {
	Name     string
	Tensors  int
	Elements int64
	Bytes    int64
}

// Inspect says what a model is, and what loading it would need and lack, without reading its weights. The
// error is that of [Describe]; what else is wrong is in Problems.
func Inspect(model string) (*Report, error) {
	d, err := Describe(model)
	if err != nil {
		return nil, err
	}
	r := &Report{Description: *d, Inventory: &inventory.Inventory{}}
	if err := r.types(); err != nil {
		r.Problem(err)
		return r, nil
	}
	v, err := d.inventory()
	if err != nil {
		r.Problem(err)
		return r, nil
	}
	r.Inventory = v
	return r, nil
}

func (d *Description) inventory() (*inventory.Inventory, error) {
	switch {
	case d.family == decoders && d.Kind == Reranker:
		return decoder.InspectReranker(d.Path)
	case d.family == decoders:
		return decoder.Inspect(d.Path, d.Kind == Embedder)
	case d.family == tables:
		return static.Inspect(d.Path)
	}
	return encoder.Inspect(d.Path, d.Kind == Reranker)
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
