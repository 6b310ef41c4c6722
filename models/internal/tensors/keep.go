package tensors

import (
	"fmt"
	"slices"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/internal/packed"
)

// Packed layers are kept in a file beside the model's first one, if the reader is asked to.

// KeepPacked makes the reader take layers from the file beside the model if that fits its files,
// and else write it. The caller closes r.Packed.
func (r *Reader) KeepPacked() error {
	paths, err := r.paths()
	if err != nil {
		return err
	}
	source, err := packed.Fingerprint(paths, r.settings())
	if err == nil {
		r.Packed, err = packed.Open(paths[0]+packed.Suffix, source)
	}
	return err
}

func (r *Reader) endPacked() error {
	if r.Packed == nil {
		return nil
	}
	paths, err := r.paths()
	if err != nil {
		return err
	}
	source, err := packed.Fingerprint(paths, r.settings())
	if err != nil {
		return err
	}
	return r.Packed.End(source)
}

// paths returns the files of the store, sorted.
func (s *Store) paths() (list []string, err error) {
	for _, t := range s.tensors {
		if !slices.Contains(list, t.file.path) {
			list = append(list, t.file.path)
		}
	}
	slices.Sort(list)
	switch {
	case len(list) == 0 || list[0] == "":
		return nil, &kernel.Error{Where: "Options.KeepPacked", Got: "a model without a path", Want: "one of files, beside which layers are kept"}
	case len(list) == 1 && strings.HasSuffix(list[0], ".gguf"):
		return gguf.Parts(list[0])
	}
	return list, nil
}

// settings are those that change layers, or which ones are read, but for Order, which keys have.
// config.json, of which there is no fingerprint, says what tensors are made of others.
func (r *Reader) settings() string {
	var b strings.Builder
	fmt.Fprintf(&b, "widen=%v precision=%v%s", r.Pack.Widen, r.Pack.Precision, r.Adapters)
	if r.More {
		b.WriteString(" more")
	}
	for _, name := range r.Names() {
		if key := r.tensors[name].key(); key != "" {
			fmt.Fprintf(&b, " %q=%s", name, key)
		}
	}
	return b.String()
}

// packedKey names the layer that is made of weights.
func (r *Reader) packedKey(side Side, all []*weights) string {
	var b strings.Builder
	if side != Inner && r.Pack.Order != nil {
		fmt.Fprint(&b, side, r.Pack.Order, " ")
	}
	for _, w := range all {
		fmt.Fprintf(&b, "%s[%d+%d %d]%v bias=%v ", w.name, w.first, w.n, w.k, w.kept, w.bias != nil)
	}
	return b.String()
}
