package network

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/tensors"
)

// Read makes the network of a model of weights by the names that they have in GGUF files.
// words are the embeddings of tokens. After an error of the reader it is not to be used.
func Read(m *arch.Model, r *tensors.Reader, words Table) *Network {
	n := &Network{Width: m.Width, Embed: Embedding{Words: words, Scale: m.Embed.Scale, Padding: m.Embed.Padding, Placeholders: m.Embed.Placeholders}}
	b := &builder{Reader: r, model: m, network: n}
	b.embedding(&n.Embed)
	b.shared()
	b.inputs()
	b.streams()
	for i := 0; i < len(m.Layers) && r.Err() == nil; i++ {
		if m.Repeat && i > 0 {
			n.Layers = append(n.Layers, n.Layers[0])
			continue
		}
		n.Layers = append(n.Layers, b.layer(i, &m.Layers[i]))
	}
	final := "output_norm"
	if name := m.Family.FinalNorm; name != "" && r.Rename == nil && !r.Has(final+".weight") {
		final = name
	}
	n.Final = b.norm(m.Final, final)
	if m.Project > 0 {
		n.Project = b.Linear(tensors.Reads, tensors.Part{Name: "output_proj", Shape: []int{m.Project, m.Width}})
	}
	b.factors()
	return n
}

// ReadAhead makes the network of [arch.Model.Ahead], which has a number among the layers of the
// file. Without a norm of its own its states take the model's.
func ReadAhead(m *arch.Model, layer int, r *tensors.Reader, words Table) *Network {
	n := &Network{Width: m.Width, Embed: Embedding{Words: words, Width: m.Width, Scale: m.Embed.Scale, Padding: m.Embed.Padding}}
	b := &builder{Reader: r, model: m, network: n}
	n.Embed.Ahead = &Ahead{
		Token: b.norm(m.Final, at(layer, "nextn.enorm")), State: b.norm(m.Final, at(layer, "nextn.hnorm")),
		Join: b.Linear(tensors.Inner, part(layer, "nextn.eh_proj", arch.Absent, m.Width, 2*m.Width)),
	}
	n.Layers = []Layer{b.layer(layer, &m.Layers[0])}
	final := at(layer, "nextn.shared_head_norm")
	if !b.has(layer, "nextn.shared_head_norm") {
		final = "output_norm"
	}
	n.Final = b.norm(m.Final, final)
	b.factors()
	return n
}

// embedding reads what is added to the embeddings of tokens, and what follows. Columns have the
// order of states.
func (b *builder) embedding(e *Embedding) {
	of, order := &b.model.Embed, b.Pack.Order
	e.Width = cmp.Or(of.Width, b.model.Width)
	if of.Width > 0 {
		b.Pack.Order = nil
	}
	if of.Table > 0 {
		e.Positions = b.rows("position_embd.weight", of.Table, e.Width)
	}
	if of.Types > 0 {
		e.Types = b.rows("token_types.weight", of.Types, e.Width)
	}
	b.soft(e, of.Soft)
	e.Norm = ReadNorm(of.Norm, b.Reader, "token_embd_norm", e.Width)
	e.Norm.permute(b.Pack.Order)
	if b.Pack.Order = order; of.Width > 0 {
		e.Project = b.Linear(tensors.Writes, tensors.Part{Name: "token_embd_proj", Shape: []int{b.model.Width, e.Width}, Bias: arch.Present})
	}
}

// A builder makes the parts of a network.
type builder struct {
	*tensors.Reader
	model    *arch.Model
	network  *Network
	ropes    []*arch.Rope // those that Network.Ropes are copies of
	relative *Relative
	buckets  []float32  // embeddings of distances, for Apart, [2·Span, Width]
	places   *Distances // likewise
}

// inputs reads what makes the inputs of layers beside the states.
func (b *builder) inputs() {
	n := b.model.Embed.Inputs
	if n == 0 {
		return
	}
	all, in := n*len(b.model.Layers), &Inputs{Known: b.model.Embed.Known}
	if !b.model.Embed.Derived {
		words := in.Known
		if info, _ := b.Info("token_embd.weight"); len(info.Shape) == 2 && (words == 0 || info.Shape[0] < words) {
			words = info.Shape[0]
		}
		in.Table = Packed{b.Linear(tensors.Inner, tensors.Part{Name: "per_layer_token_embd", Shape: []int{words, all}}).One()}
	}
	in.Project = b.Linear(tensors.Reads, tensors.Part{Name: "per_layer_model_proj", Shape: []int{all, b.model.Width}})
	in.Norm = ReadNorm(b.model.Final, b.Reader, "per_layer_proj_norm", n)
	b.network.Inputs = in
}

// rows reads rows of a width, whose columns are in the order of states.
func (b *builder) rows(name string, n, width int) []float32 {
	x := b.Floats(name, n, width)
	tensors.PermuteColumns(x, b.Pack.Order)
	return x
}

// norm reads a norm of states, or returns nil if it is not there.
func (b *builder) norm(of *arch.Norm, name string) *Norm {
	a := ReadNorm(of, b.Reader, name, b.model.Width)
	a.permute(b.Pack.Order)
	return a
}

// permute gives the columns of a norm of states their order.
func (a *Norm) permute(order []int) {
	if a != nil {
		tensors.PermuteColumns(a.Weight, order)
		tensors.PermuteColumns(a.Bias, order)
	}
}

// ReadNorm reads a norm of rows of a width, or returns nil without one.
func ReadNorm(of *arch.Norm, r *tensors.Reader, name string, width int) *Norm {
	if of == nil {
		return nil
	}
	a := &Norm{Weight: r.Floats(name+".weight", width), Epsilon: float32(of.Epsilon), Centred: of.Kind == arch.LayerNorm}
	if of.Bias {
		a.Bias = r.Floats(name+".bias", width)
	}
	if of.LessOne {
		for i := range a.Weight {
			a.Weight[i]++
		}
	}
	return a
}

// layer reads a layer, in the order in which it is computed.
func (b *builder) layer(i int, l *arch.Layer) (out Layer) {
	norm := func(is bool, name string) *Norm {
		if !is {
			return nil
		}
		return b.norm(l.Norm, at(i, name))
	}
	post, after, beside := l.Order == arch.Post, l.Order == arch.Sandwich || l.Order == arch.Output, l.Order == arch.Parallel
	before := !post && l.Order != arch.Output
	out.Mixed, out.Fed = Norms{Post: post, Share: l.Share, Beside: beside}, Norms{Post: post, Share: l.Share}
	out.Mixed.Before = norm(before && !l.Bare && l.Mixer != nil, "attn_norm")
	out.Mix, out.Feed = nothing{}, nothing{}
	switch t := l.Mixer.(type) {
	case *arch.Attention:
		out.Mix = b.attention(i, t)
	case *arch.Delta:
		out.Mix = b.delta(i, t)
	case *arch.StateSpace:
		out.Mix = b.stateSpace(i, t)
	case *arch.Latent:
		out.Mix = b.latent(i, t)
	case *arch.Both:
		out.Mix = &Both{b.attention(i, &t.Attention), b.stateSpace(i, t.Space)}
	case *arch.Convolution:
		out.Mix = b.convolution(i, t)
	}
	out.Mixed.After = norm(after, "post_attention_norm")
	out.AltUp, out.Laurel = b.altUp(i, l), b.laurel(i, l, &out.Mixed)
	second := "ffn_norm"
	if l.Order == arch.Pre && b.Rename == nil && b.has(i, "post_attention_norm") {
		second = "post_attention_norm" // its name in GGUF files of some families
	}
	if l.Mixer == nil {
		second = "attn_norm" // the one norm of a layer that has no other part
	}
	out.Fed.Before = norm(before && !beside && l.Feed != nil, second)
	switch f := l.Feed.(type) {
	case *arch.Dense:
		out.Feed = b.dense(i, f)
	case *arch.Experts:
		out.Feed = b.experts(i, f)
	case *arch.Twofold:
		out.Feed = b.twofold(i, f, out.Fed.Before)
	}
	out.Fed.After = norm(after, "post_ffw_norm")
	if post {
		out.Mixed.After, out.Fed.After = norm(true, "attn_output_norm"), norm(true, "layer_output_norm")
	}
	last := &out.Fed
	if n := l.Inputs; n > 0 {
		out.Own = &Injection{
			Gate: b.Linear(tensors.Reads, part(i, "inp_gate", arch.Absent, n, b.model.Width)), Down: b.Linear(tensors.Writes, part(i, "proj", arch.Absent, b.model.Width, n)),
			Activation: l.Activation, Layer: i,
		}
		out.Owned.After, last = norm(true, "post_norm"), &out.Owned
	}
	if l.Scaled {
		if x := b.Floats(at(i, "layer_output_scale.weight"), 1); len(x) > 0 && x[0] != 1 {
			last.Scale = x[0]
		}
	}
	return out
}

// at returns the name of a tensor of a layer.
func at(layer int, name string) string { return fmt.Sprintf("blk.%d.%s", layer, name) }

// part returns a matrix of a layer with n outputs and k inputs.
func part(i int, name string, bias arch.Bias, n, k int) tensors.Part {
	return tensors.Part{Name: at(i, name), Shape: []int{n, k}, Bias: bias}
}

// has tells whether a layer has a matrix. A folder has none but those that its family
// names: one with the name that a GGUF file would have is not known.
func (b *builder) has(i int, name string) bool {
	names, stem := b.model.Family.Names, "blk.%d."+name
	if b.Rename != nil && names[stem] == "" && names[stem+".weight"] == "" {
		return false
	}
	return b.Has(at(i, name+".weight"))
}

// attention reads queries, keys and values, which some models have in one matrix, and
// what stands around them.
func (b *builder) attention(i int, t *arch.Attention) *Attention {
	w, queries, keys := b.model.Width, t.Heads*t.Size, t.KVHeads*t.Size
	qkv := []tensors.Part{part(i, "attn_q", t.Bias, queries, w), part(i, "attn_k", t.Bias, keys, w), part(i, "attn_v", t.Bias, keys, w)}
	switch {
	case t.Source > 0:
		return b.reader(i, t, qkv[0])
	case t.Fused || b.has(i, "attn_qkv"):
		qkv = []tensors.Part{part(i, "attn_qkv", t.Bias, queries+2*keys, w)}
	case t.KeysAsValues:
		qkv[2] = qkv[1]
	}
	if t.Gated {
		both := part(i, "attn_q", t.Bias, 2*queries, w)
		qkv = slices.Concat(rowsOf(both, 0, t.Heads, t.Size, 2*t.Size), qkv[1:], rowsOf(both, t.Size, t.Heads, t.Size, 2*t.Size))
	}
	a := &Attention{
		Gated: t.Gated,
		Heads: t.Heads, KVHeads: t.KVHeads, Size: t.Size, Rope: b.rope(t.Rope),
		QKV: b.Linear(tensors.Reads, qkv...), Out: b.Linear(tensors.Writes, part(i, "attn_output", t.OutBias, w, queries)),
		QueryNorm: b.headNorms(t, at(i, "attn_q_norm"), t.Heads), KeyNorm: b.headNorms(t, at(i, "attn_k_norm"), t.KVHeads), Late: t.HeadNorm != nil && t.HeadNorm.Late,
		Window: t.Window, BothWays: b.model.BothWays, Scale: t.Scale, Softcap: t.Softcap, Relative: b.relative, ALiBi: t.ALiBi,
	}
	if t.ValueNorm {
		a.ValueNorm = []*Norm{{Weight: slices.Repeat([]float32{1}, t.Size), Epsilon: float32(t.HeadNorm.Epsilon)}}
	}
	if t.Sinks {
		a.Sinks = b.Floats(at(i, "attn_sinks.weight"), t.Heads)
	}
	if t.Apart != nil {
		a.Apart = b.apart(i, t.Apart, a)
	}
	return a
}

// reader reads attention to the keys and values of another layer.
func (b *builder) reader(i int, t *arch.Attention, queries tensors.Part) *Attention {
	for _, name := range []string{"attn_k.weight", "attn_v.weight", "attn_k_norm.weight"} { // published files have them, which nothing reads
		b.Skip(at(i, name))
	}
	return &Attention{
		Heads: t.Heads, Size: t.Size, Rope: b.rope(t.Rope), Source: t.Source,
		QKV: b.Linear(tensors.Reads, queries), Out: b.Linear(tensors.Writes, part(i, "attn_output", t.OutBias, b.model.Width, t.Heads*t.Size)),
		QueryNorm: b.headNorms(t, at(i, "attn_q_norm"), t.Heads), Late: t.HeadNorm != nil && t.HeadNorm.Late,
		Window: t.Window, BothWays: b.model.BothWays, Scale: t.Scale, Softcap: t.Softcap,
	}
}

// headNorms reads the norms of so many heads of queries or keys. Folders have weights of their own
// for a head in a tensor for each, GGUF files in one.
func (b *builder) headNorms(t *arch.Attention, name string, heads int) (all []*Norm) {
	of := t.HeadNorm
	switch {
	case of == nil:
		return nil
	case of.Of == arch.EachHead:
		return []*Norm{ReadNorm(&of.Norm, b.Reader, name, t.Size)}
	case of.Of == arch.AllHeads:
		return []*Norm{ReadNorm(&of.Norm, b.Reader, name, heads*t.Size)}
	case b.Rename != nil:
		for h := range heads {
			all = append(all, ReadNorm(&of.Norm, b.Reader, fmt.Sprintf("%s.%d", name, h), t.Size))
		}
		return all
	}
	weights := b.Floats(name+".weight", heads, t.Size)
	for h := 0; h < heads && b.Err() == nil && b.Dry == nil; h++ {
		all = append(all, &Norm{Weight: weights[h*t.Size:][:t.Size], Epsilon: float32(of.Epsilon), Centred: of.Kind == arch.LayerNorm})
	}
	return all
}

// rope returns the number of a rotation.
func (b *builder) rope(r *arch.Rope) int {
	if r == nil {
		return -1
	}
	i := slices.Index(b.ropes, r)
	if i < 0 {
		i = len(b.ropes)
		b.ropes, b.network.Ropes = append(b.ropes, r), append(b.network.Ropes, *r)
	}
	return i
}

// factors reads divisors of the frequencies, one for each pair, of layers that see all
// tokens, if not all have a window. GGUF files alone have them, in place of a scaling.
func (b *builder) factors() {
	if b.Rename != nil {
		return
	}
	var to *arch.Rope
	for _, l := range b.model.Layers {
		if t := l.Attention(); t != nil && t.Rope != nil && b.Err() == nil && (to == nil || t.Window == 0) {
			to = &b.network.Ropes[b.rope(t.Rope)]
		}
	}
	if to == nil {
		return
	}
	for _, list := range []struct {
		name string
		to   *[]float64
	}{{"rope_freqs.weight", &to.Scaling.Factors}, {"rope_factors_short.weight", &to.Scaling.Short}, {"rope_factors_long.weight", &to.Scaling.Long}} {
		if !b.Has(list.name) && !(to.Factored && list.to == &to.Scaling.Factors) {
			continue
		}
		if s := &to.Scaling; s.YaRN || s.Llama3 || s.Factors != nil {
			b.Fail(b.Bad(list.name, "no such tensor, as frequencies are scaled already"))
			return
		}
		for _, x := range b.Floats(list.name, to.Dims/2) {
			if x >= 1e30 { // which the converter writes of pairs that do not rotate
				x = float32(math.Inf(1))
			}
			*list.to = append(*list.to, float64(x))
		}
	}
}

// dense reads a feed-forward network. Some models have gate and up in one matrix, which
// GGUF files call ffn_up.
func (b *builder) dense(i int, d *arch.Dense) Feed {
	w, n := b.model.Width, d.Inner
	up, gate, down := part(i, "ffn_up", d.Bias, n, w), part(i, "ffn_gate", d.Bias, n, w), part(i, "ffn_down", d.DownBias, w, n)
	if !d.Gated {
		return &Dense{Up: b.Linear(tensors.Reads, up), Down: b.Linear(tensors.Writes, down), Activation: d.Activation}
	}
	both := []tensors.Part{gate, up}
	if d.Fused || b.has(i, "ffn_gate_up") {
		both = halves(part(i, "ffn_gate_up", d.Bias, 2*n, w), n, d.UpFirst)
	} else if b.has(i, "ffn_up") && !b.has(i, "ffn_gate") {
		both = halves(part(i, "ffn_up", d.Bias, 2*n, w), n, d.UpFirst)
	}
	f := &Gated{GateUp: b.Linear(tensors.Reads, both...), Down: b.Linear(tensors.Writes, down), Activation: d.Activation.Gated()}
	if d.Beyond != nil {
		f.Activation = beyond(*d.Beyond, f.Activation)
	}
	return f
}

// halves returns the two halves of a matrix of 2·n outputs, or both as one if gate is
// first.
func halves(p tensors.Part, n int, upFirst bool) []tensors.Part {
	if !upFirst {
		return []tensors.Part{p}
	}
	gate, up := p, p
	gate.First, gate.Rows, up.Rows = n, n, n
	return []tensors.Part{gate, up}
}
