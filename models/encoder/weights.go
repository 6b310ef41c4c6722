package encoder

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/loading"
	"github.com/attn-go/attn/models/internal/network"
	"github.com/attn-go/attn/models/internal/tensors"
)

// model are the weights, which never change.
type model struct {
	*arch.Model
	network *network.Network
	ropes   []network.Rotation
	int8    bool  // see LoadOptions
	inverse []int // puts the columns of states back into the order of the file
}

// inOrder puts the columns of what the model makes of tokens into the order of the file.
func (m *model) inOrder(x []float32) {
	if m.Project == 0 {
		tensors.PermuteColumns(x, m.inverse)
	}
}

// prefixes are what the names of a model's tensors may begin with.
var prefixes = []string{"", "bert.", "roberta.", "distilbert.", "mpnet.", "nomic_bert.", "new.", "model.", "deberta.", "electra.", "albert.", "gte."}

// prefix returns the one that the names of tensors have.
func (x *origin) prefix() string {
	for _, p := range prefixes {
		if _, ok := x.Info(p + x.model.Family.Names["token_embd"] + ".weight"); ok {
			return p
		}
	}
	return ""
}

// reader returns a reader of the tensors of the model.
func (x *origin) reader() *tensors.Reader {
	r := &tensors.Reader{Store: x.Store, Pack: tensors.Pack{Widen: true}}
	if x.folder {
		prefix, theirs := x.prefix(), x.Renamed(x.model.Family.Names)
		r.Rename = func(name string) string { return prefix + theirs(name) }
	}
	return r
}

const words = "token_embd.weight"

// read reads the weights of the model itself.
func (x *origin) read(o LoadOptions) (*model, error) {
	r := x.reader()
	if err := o.Precision.Check("LoadOptions.Precision"); err != nil {
		return nil, fmt.Errorf("encoder: %w", err)
	}
	r.Pack.Precision, r.Meter = o.Precision, loading.New(x.Bytes(), o.Progress)
	if r.Pack.Int8() {
		if err := x.checkInt8(); err != nil {
			return nil, err
		}
		r.Pack.Order = network.Columns(x.model, r)
	}
	if o.KeepPacked {
		if err := r.KeepPacked(); err != nil {
			return nil, err
		}
		defer r.Packed.Close()
	}
	m := x.readModel(r)
	if r.Err() != nil {
		return nil, r.Err()
	}
	if err := r.End(); err != nil {
		return nil, err
	}
	var err error
	if m.ropes, err = m.network.Rotations(0, x.positions); err != nil {
		return nil, fmt.Errorf("encoder: %s: %w", x.path, err)
	}
	return m, nil
}

// readModel reads the weights with a reader, or checks them if it reads nothing.
func (x *origin) readModel(r *tensors.Reader) *model {
	if err := x.checkApart(); err != nil {
		r.Fail(err)
	}
	width := x.model.Embed.Width
	embeddings := r.Numbers(words, x.model.Vocab, cmp.Or(width, x.model.Width))
	if width == 0 {
		embeddings.PermuteColumns(r.Pack.Order)
	}
	m := &model{Model: x.model, network: network.Read(x.model, r, embeddings), int8: r.Pack.Int8(), inverse: inverse(r.Pack.Order)}
	if x.folder {
		r.Ignore(x.model.Family.Ignored...)
	}
	return m
}

// checkInt8 reports a model whose weights cannot be rounded.
func (x *origin) checkInt8() error {
	w, layer := x.model.Width, x.model.Layers[0]
	others := []int{layer.Feed.(*arch.Dense).Inner}
	inputs := []int{x.model.Embed.Width, layer.Inputs}
	for _, a := range x.model.Attentions() {
		inputs = append(inputs, a.Heads*a.Size)
	}
	for _, n := range inputs {
		if n != 0 && n != w && !slices.Contains(others[1:], n) {
			others = append(others, n)
		}
	}
	if w%32 == 0 && !slices.ContainsFunc(others, func(n int) bool { return n%32 != 0 }) {
		return nil
	}
	return fmt.Errorf("%s: %w", x.path, &kernel.Error{Where: "LoadOptions.Precision", Got: fmt.Sprintf("int8 of a model of width %d, with layers of %d other inputs", w, others), Want: "multiples of 32, the weights of a block"})
}

// checkApart reports keys and queries of positions that take much more memory than the
// file has weights: few weights can stand for many buckets in many layers.
func (x *origin) checkApart() error {
	d := x.model.Layers[0].Attention().Apart
	if d == nil {
		return nil
	}
	layers := len(x.model.Layers)
	each := 4 * int64(2*d.Span) * int64(x.model.Width) // bytes for a layer
	most := max(2*x.Bytes(), 1<<24)
	if 2*each <= most/int64(layers) {
		return nil
	}
	return &kernel.Error{Where: x.path + ": position_buckets, max_relative_positions", Got: fmt.Sprintf("%d, whose keys and queries take %d bytes in each of %d layers", d.Span, 2*each, layers), Want: fmt.Sprintf("at most %d bytes together, twice those of the weights", most)}
}

// inverse returns the order that undoes another one.
func inverse(order []int) []int {
	if order == nil {
		return nil
	}
	back := make([]int, len(order))
	for i, from := range order {
		back[from] = i
	}
	return back
}
