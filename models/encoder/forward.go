package encoder

import (
	"context"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/norm"
)

// A scratch is the memory of a batch. It grows to the largest batch.
type scratch struct {
	starts []int     // the row at which each text begins, and the number of rows
	x      []float32 // [rows, Width]: the state of every token
	wide   []float32 // [rows, 3·Width or Inner]
	narrow []float32 // [rows, Width]
	mean   []float64 // [Width]
}

// lay sets the starts of a batch and makes room for its rows.
func (s *scratch) lay(batch []int, ids [][]int32, c *config) (rows int) {
	s.starts = append(s.starts[:0], 0)
	for _, text := range batch {
		rows += len(ids[text])
		s.starts = append(s.starts, rows)
	}
	s.x = grown(s.x, rows*c.Width)
	s.wide = grown(s.wide, rows*max(3*c.Width, c.Inner))
	s.narrow = grown(s.narrow, rows*c.Width)
	s.mean = grown(s.mean, c.Width)
	return rows
}

// grown returns memory for n numbers, which hold anything.
func grown[E any](x []E, n int) []E {
	if cap(x) < n {
		return make([]E, n)
	}
	return x[:n]
}

// forward computes the outputs of the last layer for the texts of a batch, [rows, Width] in
// the memory of s: one text after the other, see s.starts. If each is not nil, it sees the
// states after the embedding block and after each layer.
func (e *Encoder) forward(ctx context.Context, s *scratch, batch []int, ids [][]int32, each func(x []float32)) ([]float32, error) {
	rows := s.lay(batch, ids, &e.config)
	for i, text := range batch {
		e.lookUp(s.x[s.starts[i]*e.config.Width:], ids[text])
	}
	if err := e.normalise(s.x, e.norm, nil); err != nil {
		return nil, err
	}
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
		if each != nil {
			each(s.x)
		}
	}
	return s.x, nil
}

// lookUp writes the sums of the embeddings of tokens and of their positions.
func (m *model) lookUp(x []float32, ids []int32) {
	w := m.config.Width
	for i, id := range ids {
		row, word, position := x[i*w:][:w], m.words[int(id)*w:][:w], m.positions[i*w:][:w]
		for j, y := range word {
			row[j] = y + position[j]
		}
	}
}

// attend computes x = norm(x + out(attention(qkv(x)))).
func (e *Encoder) attend(l *layer, s *scratch, rows int) error {
	w, opts := e.config.Width, linear.Options{Exec: e.opts.Exec, Int8: e.int8}
	qkv := s.wide[:rows*3*w]
	if err := l.qkv.Apply(linear.DenseMatrix(qkv, rows, 3*w), linear.DenseMatrix(s.x, rows, w), opts); err != nil {
		return err
	}
	q, k, v := kernel.PackedQKV(qkv, 1, rows, e.Heads, e.Heads, w/e.Heads)
	o := kernel.BLHD(s.narrow, 1, rows, e.Heads, w/e.Heads)
	err := kernel.Attention(o.Ragged(s.starts), q.Ragged(s.starts), k.Ragged(s.starts), v.Ragged(s.starts), kernel.Options{Exec: e.opts.Exec})
	if err != nil {
		return err
	}
	y := s.wide[:rows*w]
	if err := l.out.Apply(linear.DenseMatrix(y, rows, w), linear.DenseMatrix(s.narrow, rows, w), opts); err != nil {
		return err
	}
	return e.normalise(s.x, l.attention, y)
}

// feed computes x = norm(x + down(activation(up(x)))).
func (e *Encoder) feed(l *layer, s *scratch, rows int) error {
	w := e.config.Width
	inner := s.wide[:rows*e.Inner]
	if err := l.up.Apply(linear.DenseMatrix(inner, rows, e.Inner), linear.DenseMatrix(s.x, rows, w), linear.Options{Exec: e.opts.Exec, Int8: e.int8, Activation: e.activation}); err != nil {
		return err
	}
	if err := l.down.Apply(linear.DenseMatrix(s.narrow, rows, w), linear.DenseMatrix(inner, rows, e.Inner), linear.Options{Exec: e.opts.Exec, Int8: e.int8}); err != nil {
		return err
	}
	return e.normalise(s.x, l.feedforward, s.narrow)
}

// normalise computes x = norm(y + x), or norm(x) if y is nil.
func (e *Encoder) normalise(x []float32, a affine, y []float32) error {
	w := e.config.Width
	tokens := func(data []float32) kernel.Tensor { return kernel.BLHD(data, 1, len(x)/w, 1, w) }
	opts := norm.Options{Exec: e.opts.Exec}
	from := x
	if y != nil {
		from, opts.Residual = y, tokens(x)
	}
	return norm.Layer(tokens(x), tokens(from), a.weight, a.bias, float32(e.Epsilon), opts)
}
