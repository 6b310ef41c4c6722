package decoder

import (
	"context"
	"errors"
	"runtime"
	"sync"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/norm"
	"github.com/attn-go/attn/numeric"
	"github.com/attn-go/attn/rope"
)

// pass runs the model on the rows of a pass, and writes the logits of the wanted ones.
func (s *Session) pass(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.batch.Set(s.sequences...); err != nil {
		return err
	}
	if err := s.batch.Extend(s.counts...); err != nil {
		return err
	}
	s.fit(len(s.tokens))
	if err := s.model.embedding.Rows(linear.DenseMatrix(s.x, len(s.tokens), s.model.config.Width), s.tokens, s.model.options.Exec); err != nil {
		return err
	}
	s.scaleEmbeddings()
	s.see("embd", 0, s.x)
	rows := len(s.tokens)
	for i := range s.model.blocks {
		if err := ctx.Err(); err != nil {
			return err
		}
		var err error
		if rows, err = s.block(i, rows); err != nil {
			return err
		}
	}
	if rows == 0 {
		return nil
	}
	if err := s.norm(s.model.norm, rows, true); err != nil {
		return err
	}
	s.see("hidden", len(s.model.blocks)-1, s.x[:rows*s.model.config.Width])
	s.see("norm", 0, s.normed[:rows*s.model.config.Width])
	out := s.logits[s.ready*s.width:][:rows*s.width]
	s.ready += rows
	if s.hidden {
		copy(out, s.normed)
		return nil
	}
	if err := s.apply(s.model.head, out, s.normed, rows, s.model.config.Width); err != nil {
		return err
	}
	return s.capLogits(out)
}

// scaleEmbeddings multiplies the embeddings.
func (s *Session) scaleEmbeddings() {
	scale := s.model.config.EmbeddingScale
	if scale == 0 {
		return
	}
	for i, x := range s.x {
		s.x[i] = float32(x * scale)
	}
}

// capLogits limits logits to those from -c to c: c·tanh(x/c).
func (s *Session) capLogits(logits []float32) error {
	most := s.model.config.LogitSoftcap
	if most == 0 {
		return nil
	}
	for i, x := range logits {
		logits[i] = x / most
	}
	if err := numeric.TanhSlice(logits, logits, s.model.options.Exec); err != nil {
		return err
	}
	for i, x := range logits {
		logits[i] = float32(x * most)
	}
	return nil
}

// block runs a layer of the decoder. It returns the number of rows that go on: the last layer
// has use for those whose logits are wanted, once it has stored keys and values.
func (s *Session) block(i, rows int) (int, error) {
	b, c, last := &s.model.blocks[i], &s.model.config, i == len(s.model.blocks)-1
	if err := s.norm(b.attnNorm, rows, i > 0); err != nil {
		return 0, err
	}
	if i > 0 {
		s.see("hidden", i-1, s.x)
	}
	s.see("layer.norm", i, s.normed)
	if err := s.project(b, i); err != nil {
		return 0, err
	}
	if last && len(s.wanted) == 0 {
		return 0, nil
	}
	if err := s.attend(i); err != nil {
		return 0, err
	}
	if last {
		gather(s.attended, s.wanted, c.Heads*c.HeadSize)
		gather(s.x, s.wanted, c.Width)
		rows = len(s.wanted)
	}
	if err := s.apply(b.output, s.delta, s.attended, rows, c.Heads*c.HeadSize); err != nil {
		return 0, err
	}
	if err := s.normOutput(b.postAttn, rows); err != nil {
		return 0, err
	}
	if err := s.norm(b.ffnNorm, rows, true); err != nil {
		return 0, err
	}
	s.see("layer.ffn_norm", i, s.normed)
	if err := s.feedForward(b, rows); err != nil {
		return 0, err
	}
	s.see("layer.ffn", i, s.delta)
	return rows, s.normOutput(b.postFFN, rows)
}

// gather moves rows to the front. They are in ascending order.
func gather(x []float32, rows []int, width int) {
	for i, row := range rows {
		copy(x[i*width:][:width], x[row*width:])
	}
}

// norm normalises the hidden states, after it has added delta to them if it is to.
func (s *Session) norm(weight []float32, rows int, add bool) error {
	w := s.model.config.Width
	view := func(x []float32) kernel.Tensor { return kernel.BHLD(x, 1, 1, rows, w) }
	o := norm.Options{Exec: s.model.options.Exec}
	in := s.x
	if add {
		in, o.Residual, o.Sum = s.delta, view(s.x), view(s.x)
	}
	return norm.RMSNorm(view(s.normed), view(in), weight, s.model.config.Epsilon, o)
}

// normOutput normalises delta, if the layer has weights for that.
func (s *Session) normOutput(weight []float32, rows int) error {
	if weight == nil {
		return nil
	}
	view := kernel.BHLD(s.delta, 1, 1, rows, s.model.config.Width)
	return norm.RMSNorm(view, view, weight, s.model.config.Epsilon, norm.Options{Exec: s.model.options.Exec})
}

// project computes queries, keys and values, rotates the first two, and stores the last two.
func (s *Session) project(b *block, layer int) error {
	c := &s.model.config
	if err := s.apply(b.qkv, s.qkv, s.normed, len(s.tokens), c.Width); err != nil {
		return err
	}
	width := b.qkv.N
	if err := s.normHeads(b, width); err != nil {
		return err
	}
	s.rope = s.model.ropeOf(layer)
	if err := s.spread(len(s.tokens), width, (*Session).rotate); err != nil {
		return err
	}
	s.see("layer.qkv", layer, s.qkv)
	if s.model.hadamard.any() {
		if err := s.spread(len(s.tokens), width, (*Session).rotateForCache); err != nil {
			return err
		}
	}
	keys := c.Heads * c.HeadSize
	return s.batch.Store(layer, s.heads(s.qkv, keys, c.KVHeads, width), s.heads(s.qkv, keys+c.KVHeads*c.HeadSize, c.KVHeads, width))
}

// normHeads normalises each head of queries and keys, if the layer has weights for that.
func (s *Session) normHeads(b *block, width int) error {
	c, rows := &s.model.config, len(s.tokens)
	for _, part := range [...]struct {
		weight    []float32
		at, heads int
	}{{b.queryNorm, 0, c.Heads}, {b.keyNorm, c.Heads * c.HeadSize, c.KVHeads}} {
		if part.weight == nil {
			continue
		}
		view := kernel.Strided(s.qkv[part.at:], [4]int{1, part.heads, rows, c.HeadSize}, [3]int{rows * width, c.HeadSize, width})
		if err := norm.RMSNorm(view, view, part.weight, c.Epsilon, norm.Options{Exec: s.model.options.Exec}); err != nil {
			return err
		}
	}
	return nil
}

// ropeOf returns the rotation of a layer.
func (m *Model) ropeOf(layer int) *rope.Rope {
	if m.localRope != nil && m.config.window(layer) > 0 {
		return m.localRope
	}
	return m.rope
}

// oneThread is how functions of some rows compute, of which several run at once.
func (s *Session) oneThread() kernel.Exec {
	return kernel.Exec{Tier: s.model.options.Tier, Threads: 1}
}

// rotate rotates the queries and keys of some rows.
func (s *Session) rotate(lo, hi int) error {
	c := &s.model.config
	d, heads, width := c.HeadSize, c.Heads+c.KVHeads, c.Heads*c.HeadSize+2*c.KVHeads*c.HeadSize
	rows := kernel.Strided(s.qkv[lo*width:], [4]int{1, heads, hi - lo, d}, [3]int{(hi - lo) * width, d, width})
	if err := s.rope.Apply(rows, s.positions[lo:hi], s.oneThread()); err != nil {
		return err
	}
	if s.rope == s.model.rope && c.scaling.Magnitude != 1 {
		s.magnify(lo, hi, width)
	}
	return nil
}

// magnify multiplies what has been rotated of queries by the square of the magnitude of cosines and
// sines: scores are products of queries and keys, and keys stay as they are.
func (s *Session) magnify(lo, hi, width int) {
	c := &s.model.config
	square := float32(c.scaling.Magnitude * c.scaling.Magnitude)
	for row := lo; row < hi; row++ {
		for h := range c.Heads {
			for i, q := range s.qkv[row*width+h*c.HeadSize:][:c.RopeDims] {
				s.qkv[row*width+h*c.HeadSize+i] = float32(q * square)
			}
		}
	}
}

// attend attends to all keys of each text.
func (s *Session) attend(layer int) error {
	c := &s.model.config
	k, v := s.batch.View(layer)
	o := kernel.Options{Exec: s.model.options.Exec, Scoring: c.scoring(layer, s.batch.Scoring())}
	o.DynamicInt12 = s.model.options.DynamicInt12
	queries := s.heads(s.qkv, 0, c.Heads, s.model.blocks[layer].qkv.N)
	err := kernel.Attention(s.heads(s.attended, 0, c.Heads, c.Heads*c.HeadSize), queries, k, v, &o)
	if err == nil {
		err = s.rotateBack(s.attended)
	}
	s.see("layer.attn", layer, s.attended)
	return err
}

// feedForward computes the feed-forward network of a layer, or its mixture of experts.
func (s *Session) feedForward(b *block, rows int) error {
	if b.experts != nil {
		return s.mixture(b, rows)
	}
	return s.gated(&b.gated, s.delta, s.normed, rows)
}

// gated computes a gated feed-forward network of rows of x.
func (s *Session) gated(n *gated, out, x []float32, rows int) error {
	c := &s.model.config
	if err := s.apply(n.gateUp, s.gateUp, x, rows, c.Width); err != nil {
		return err
	}
	if err := s.spread(rows, 2*c.FFN, (*Session).activate); err != nil {
		return err
	}
	return s.apply(n.down, out, s.gateUp, rows, 2*c.FFN)
}

// activate applies the activation to some rows, in the place of the gate.
func (s *Session) activate(lo, hi int) error {
	n := s.model.config.FFN
	for i := lo; i < hi; i++ {
		gate, up := s.gateUp[2*i*n:][:n], s.gateUp[(2*i+1)*n:][:n]
		if err := s.model.gate(gate, gate, up, s.oneThread()); err != nil {
			return err
		}
	}
	return nil
}

// leastWork is how many numbers are worth a goroutine of their own.
const leastWork = 1 << 14

// spread does some work on rows of a width, on several goroutines if it is much. For single
// tokens it allocates nothing.
func (s *Session) spread(rows, width int, work func(s *Session, lo, hi int) error) error {
	o := &s.model.options
	threads := o.Threads
	if threads == 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	parts := min(threads, rows, rows*width/leastWork)
	if parts < 2 {
		return work(s, 0, rows)
	}
	errs := make([]error, parts)
	task := func(i int) { errs[i] = work(s, i*rows/parts, (i+1)*rows/parts) }
	if o.ParallelFor != nil {
		o.ParallelFor(parts, task)
		return errors.Join(errs...)
	}
	var wg sync.WaitGroup
	for i := range parts {
		wg.Go(func() { task(i) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// apply runs a projection on rows of x that are stride numbers apart.
func (s *Session) apply(p projection, out, x []float32, rows, stride int) error {
	at := 0
	for _, l := range p.Parts {
		n, k := l.Shape()
		to := linear.StridedMatrix(out[at:], rows, n, p.N, 1)
		if err := l.Apply(to, linear.StridedMatrix(x, rows, k, stride, 1), linear.Options{Exec: s.model.options.Exec, DynamicInt8: s.model.options.DynamicInt8 && l.Format() != 0}); err != nil {
			return err
		}
		at += n
	}
	return nil
}

// see passes rows to the observer of a test.
func (s *Session) see(name string, layer int, x []float32) {
	if s.observe != nil {
		s.observe(name, layer, x)
	}
}
