package encoder

import (
	"context"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/norm"
)

// A scratch is the memory of a batch. It grows to the largest batch.
type scratch struct {
	starts   []int     // the row at which each text begins, and the number of rows
	x        []float32 // [rows, Width]: the state of every token
	h        []float32 // [rows, Width]: its norm, with preNorm
	wide     []float32 // [rows, 3·Width, Inner or 2·Inner]
	narrow   []float32 // [rows, Width]
	at       []int     // the position of each row, for rotary positions
	bias     []float32 // [Heads, biasRows, biasRows]: of relative positions
	biasRows int

	// Of DeBERTa, whose bias is that of a group of heads for every text.
	group     int
	c2p, p2c  []float32 // [rows, buckets]: products of a head's queries and keys with the places of buckets
	distances []int     // see disentangled.rows, for a text of longest tokens
	longest   int
}

// lay sets the starts of a batch and makes room for its rows.
func (s *scratch) lay(batch []int, ids [][]int32, m *model) (rows int) {
	s.starts = append(s.starts[:0], 0)
	s.at = s.at[:0]
	longest := 0
	for _, text := range batch {
		n := len(ids[text])
		rows += n
		longest = max(longest, n)
		s.starts = append(s.starts, rows)
		if m.ropes != nil {
			for i := range n {
				s.at = append(s.at, i)
			}
		}
	}
	inner := m.Inner
	if m.gated {
		inner *= 2
	}
	s.x = grown(s.x, rows*m.Width)
	s.wide = grown(s.wide, rows*max(3*m.Width, inner))
	s.narrow = grown(s.narrow, rows*m.Width)
	if m.preNorm {
		s.h = grown(s.h, rows*m.Width)
	}
	if m.relative != nil && longest > s.biasRows {
		s.bias, s.biasRows = m.relativeBias(longest), longest
	}
	if m.apart != nil {
		s.layApart(m, longest)
	}
	return rows
}

// grown returns memory for n numbers, which hold anything.
func grown[E any](x []E, n int) []E {
	if cap(x) < n {
		return make([]E, n)
	}
	return x[:n]
}

// input returns what the parts of a layer read.
func (e *runner) input(s *scratch) []float32 {
	if e.preNorm {
		return s.h
	}
	return s.x
}

// forward computes the outputs of the last layer for the texts of a batch, [rows, Width] in
// the memory of s: one text after the other, see s.starts. types are the types of tokens, or nil if all are 0. If
// each is not nil, it sees the states after the embedding block and after each layer.
func (e *runner) forward(ctx context.Context, s *scratch, batch []int, ids, types [][]int32, each func(x []float32)) ([]float32, error) {
	rows := s.lay(batch, ids, e.model)
	for i, text := range batch {
		var t []int32
		if types != nil {
			t = types[text]
		}
		e.lookUp(s.x[s.starts[i]*e.model.Width:], ids[text], t)
	}
	if err := e.join(s.x, s.x, e.norm, nil); err != nil {
		return nil, err
	}
	copy(s.h, s.x) // ModernBERT has no norm before its first layer
	if each != nil {
		each(s.x)
	}
	for i := range e.layers {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err := e.attend(&e.layers[i], s, rows); err != nil {
			return nil, err
		}
		if err := e.feed(&e.layers[i], s, rows); err != nil {
			return nil, err
		}
		if each != nil && i+1 < len(e.layers) {
			each(s.x)
		}
	}
	if each != nil {
		each(e.input(s))
	}
	return e.input(s), nil
}

// attend computes x = norm(x + out(attention(qkv(x)))), or x + out(attention(qkv(norm(x)))).
func (e *runner) attend(l *layer, s *scratch, rows int) error {
	w, heads, opts := e.model.Width, e.Heads, linear.Options{Exec: e.exec, DynamicInt8: e.int8}
	qkv := s.wide[:rows*3*w]
	if err := l.qkv.Apply(linear.DenseMatrix(qkv, rows, 3*w), linear.DenseMatrix(e.input(s), rows, w), opts); err != nil {
		return err
	}
	q, k, v := kernel.PackedQKV(qkv, 1, rows, heads, heads, w/heads)
	if e.ropes != nil {
		for _, x := range [...]kernel.Tensor{q, k} {
			if err := e.ropes[l.kind].Apply(x, s.at, e.exec); err != nil {
				return err
			}
		}
	}
	if err := e.mix(l, s, rows, q, k, v); err != nil {
		return err
	}
	y := s.wide[:rows*w]
	if err := l.out.Apply(linear.DenseMatrix(y, rows, w), linear.DenseMatrix(s.narrow, rows, w), opts); err != nil {
		return err
	}
	return e.join(e.input(s), y, l.attention, s.x)
}

// mix computes attention of all texts to s.narrow.
func (e *runner) mix(l *layer, s *scratch, rows int, q, k, v kernel.Tensor) error {
	if e.apart != nil {
		return e.attendApart(l, s, rows)
	}
	a := kernel.Options{Exec: e.exec}
	if n := e.windows[l.kind]; n >= 0 {
		a.Mask = kernel.Window(n, n)
	}
	if e.relative != nil {
		a.Bias = s.biasView(e.Heads)
	}
	o := kernel.BLHD(s.narrow, 1, rows, e.Heads, e.model.Width/e.Heads)
	return kernel.Attention(o.Ragged(s.starts), q.Ragged(s.starts), k.Ragged(s.starts), v.Ragged(s.starts), &a)
}

// feed computes x = norm(x + down(activation(up(x)))), or that of a gated network or with a norm before it.
func (e *runner) feed(l *layer, s *scratch, rows int) error {
	w := e.model.Width
	x := linear.DenseMatrix(e.input(s), rows, w)
	plain := linear.Options{Exec: e.exec, DynamicInt8: e.int8}
	fused := plain
	fused.Activation = e.activation.Fused
	inner := s.wide[:rows*e.Inner]
	first := l.up
	if l.gate != nil {
		first = l.gate
	}
	if err := first.Apply(linear.DenseMatrix(inner, rows, e.Inner), x, fused); err != nil {
		return err
	}
	if e.activation.After != nil {
		if err := e.activation.After(inner, e.exec); err != nil {
			return err
		}
	}
	if l.gate != nil {
		up := s.wide[rows*e.Inner : 2*rows*e.Inner]
		if err := l.up.Apply(linear.DenseMatrix(up, rows, e.Inner), x, plain); err != nil {
			return err
		}
		for i, y := range up {
			inner[i] *= y
		}
	}
	if err := l.down.Apply(linear.DenseMatrix(s.narrow, rows, w), linear.DenseMatrix(inner, rows, e.Inner), plain); err != nil {
		return err
	}
	return e.join(e.input(s), s.narrow, l.feedforward, s.x)
}

// join computes out = norm(y + x), or norm(y) if x is nil. With preNorm x becomes the sum.
func (e *runner) join(out, y []float32, a affine, x []float32) error {
	w := e.model.Width
	tokens := func(data []float32) kernel.Tensor { return kernel.BLHD(data, 1, len(out)/w, 1, w) }
	opts := norm.Options{Exec: e.exec}
	if x != nil {
		opts.Residual = tokens(x)
		if e.preNorm {
			opts.Sum = opts.Residual
		}
	}
	return norm.LayerNorm(tokens(out), tokens(y), a.weight, a.bias, float32(e.epsilon), opts)
}
