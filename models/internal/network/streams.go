package network

import (
	"fmt"
	"math"

	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/tensors"
	"github.com/attn-go/attn/numeric"
)

// Streams are states that a token has beside the one that layers read, as Gemma 3n has them (AltUp,
// Baykal et al. 2023). Those before the first layer are In of the first state, made as long as it
// is; after the last layer Out of each, made as long as the state, and the state are averaged.
type Streams struct{ In, Out []tensors.Linear }

// An AltUp makes a layer predict all states of a token, compute with the first one, and correct the
// others by what it has added to the prediction. Both depend on tanh(Router(Norm(state))): Predict
// makes a matrix of it, Correct a number for each state.
type AltUp struct {
	Norm                     *Norm // with weights divided by the width
	Router, Predict, Correct tensors.Linear
	Scale                    []float32 // multiplies the state that the third part of the layer reads
}

// A Laurel is h + Norm(Right(Left(h))), which is added to what a mixer makes of h.
type Laurel struct {
	Left, Right tensors.Linear
	Norm        *Norm
}

// begin makes the other states of the first ones.
func (f *Streams) begin(p *Pass, s *stream) error {
	s.others = s.others[:0]
	for i := range f.In {
		y := p.floats.take(len(s.x))
		if err := p.apply(&f.In[i], y, s.x, s.rows, len(s.x)/s.rows, 0); err != nil {
			return err
		}
		resize(y, s.x, s.rows)
		s.others = append(s.others, y)
	}
	return nil
}

// end makes one state of all, and applies the last norm.
func (f *Streams) end(p *Pass, s *stream, final *Norm) error {
	defer p.release(p.mark())
	sum, y := p.floats.take(len(s.x)), p.floats.take(len(s.x))
	copy(sum, s.x)
	for i, other := range s.others {
		if err := p.apply(&f.Out[i], y, other, s.rows, len(s.x)/s.rows, 0); err != nil {
			return err
		}
		resize(y, s.x, s.rows)
		add(sum, y, 0)
	}
	for i, x := range sum {
		s.x[i] = x / float32(1+len(s.others))
	}
	return final.apply(p.Exec, s.h, s.x, nil, false)
}

// resize makes rows of y as long as rows of x.
func resize(y, x []float32, rows int) {
	w := len(x) / rows
	for row := range rows {
		y := y[row*w:][:w]
		by := math.Sqrt(meanSquare(x[row*w:][:w]) / max(meanSquare(y), 1e-5))
		for i, z := range y {
			y[i] = float32(float64(z) * by)
		}
	}
}

// meanSquare is the mean of squares.
func meanSquare(x []float32) (sum float64) {
	for _, y := range x {
		sum += float64(float64(y) * float64(y)) // exact
	}
	return sum / float64(len(x))
}

// factors computes what predictions and corrections are made of: so many numbers for each row.
func (a *AltUp) factors(p *Pass, s *stream, of *tensors.Linear) ([]float32, error) {
	n, w := a.Router.N, len(s.x)/s.rows
	out, h, routed := p.floats.take(s.rows*of.N), p.floats.take(len(s.x)), p.floats.take(s.rows*n)
	if err := a.Norm.apply(p.Exec, h, s.x, nil, false); err != nil {
		return nil, err
	}
	if err := p.apply(&a.Router, routed, h, s.rows, w, 0); err != nil {
		return nil, err
	}
	if err := numeric.TanhSlice(routed, routed, p.Exec); err != nil {
		return nil, err
	}
	return out, p.apply(of, out, routed, s.rows, n, 0)
}

// predict replaces all states by their predictions, of which the layer reads before(the first).
func (a *AltUp) predict(p *Pass, s *stream, before *Norm) error {
	m := p.mark()
	matrix, err := a.factors(p, s, &a.Predict)
	if err == nil {
		err = spread(p, s.rows, len(s.x)/s.rows*a.Predict.N, predicted{s, matrix}, predictRows)
	}
	if p.release(m); err != nil {
		return err
	}
	s.before = p.floats.take(len(s.x))
	copy(s.before, s.x)
	return before.apply(p.Exec, s.h, s.x, nil, false)
}

// A predicted is states and a matrix for each row.
type predicted struct {
	*stream
	factors []float32
}

func predictRows(_ *Pass, f predicted, lo, hi int) error {
	n, w := 1+len(f.others), len(f.x)/f.rows
	var all [mostStreams]float32
	for at := lo * w; at < hi*w; at++ {
		matrix := f.factors[at/w*n*n:][:n*n]
		all[0] = f.x[at]
		for i, other := range f.others {
			all[1+i] = other[at]
		}
		for i := range n {
			sum := float32(0)
			for j, y := range all[:n] {
				sum += float32(y * matrix[i*n+j])
			}
			if sum += all[i]; i == 0 {
				f.x[at] = sum
			} else {
				f.others[i-1][at] = sum
			}
		}
	}
	return nil
}

// mostStreams is the most states of a token.
const mostStreams = 16

// correct replaces predictions by corrected states, and sets what the third part of the layer
// reads.
func (a *AltUp) correct(p *Pass, s *stream) error {
	defer p.release(p.mark())
	by, err := a.factors(p, s, &a.Correct)
	if err != nil {
		return err
	}
	n, w := 1+len(s.others), len(s.x)/s.rows
	for at, x := range s.x {
		more, by := x-s.before[at], by[at/w*n:][:n]
		s.x[at] = s.before[at] + float32(more*(by[0]+1))
		for i, other := range s.others {
			other[at] += float32(more * (by[1+i] + 1))
		}
		s.h[at] = float32(s.x[at] * a.Scale[at%w])
	}
	return nil
}

// alternate corrects the states of a token and adds the third part of the layer to all but the
// first.
func (l *Layer) alternate(p *Pass, s *stream) error {
	if err := l.AltUp.correct(p, s); err != nil {
		return err
	}
	if err := l.Own.feed(p, s.y, s.h, s.rows); err != nil {
		return err
	}
	if err := l.Owned.After.apply(p.Exec, s.y, s.y, nil, false); err != nil {
		return err
	}
	for _, other := range s.others {
		add(other, s.y, 0)
	}
	return nil
}

// join adds to y what the Laurel makes of h.
func (f *Laurel) join(p *Pass, y, h []float32, rows int) error {
	defer p.release(p.mark())
	z, inner := p.floats.take(len(h)), p.floats.take(rows*f.Left.N)
	if err := p.apply(&f.Left, inner, h, rows, len(h)/rows, 0); err != nil {
		return err
	}
	if err := p.apply(&f.Right, z, inner, rows, f.Left.N, 0); err != nil {
		return err
	}
	if err := f.Norm.apply(p.Exec, z, z, nil, false); err != nil {
		return err
	}
	add(z, h, 0)
	add(y, z, 0)
	return nil
}

// streams reads what makes states beside the first one. GGUF files have the matrices of all in one
// tensor.
func (b *builder) streams() {
	n, w := b.model.Streams-1, b.model.Width
	if n < 1 {
		return
	}
	read := func(name string) (all []tensors.Linear) {
		for i := range n {
			p := tensors.Part{Name: fmt.Sprintf("%s.%d", name, i), Shape: []int{w, w}}
			if b.Rename == nil {
				p = tensors.Part{Name: name, Shape: []int{n, w, w}, First: i * w, Rows: w}
			}
			all = append(all, b.Linear(tensors.Writes, p))
		}
		return all
	}
	b.network.Streams = &Streams{In: read("altup_proj"), Out: read("altup_unembd_proj")}
}

// altUp reads how a layer predicts and corrects states.
func (b *builder) altUp(i int, l *arch.Layer) *AltUp {
	n, w := b.model.Streams, b.model.Width
	if n < 2 {
		return nil
	}
	matrix := func(name string, n, k int) tensors.Linear {
		return b.Linear(tensors.Inner, part(i, name, arch.Absent, n, k))
	}
	a := &AltUp{
		Norm:   b.norm(l.Norm, at(i, "altup_router_norm")),
		Router: matrix("altup_router", n, w), Predict: matrix("altup_predict_coef", n*n, n), Correct: matrix("altup_correct_coef", n, n),
		Scale: b.Floats(at(i, "altup_correct_scale.weight"), w),
	}
	for j, x := range a.Norm.Weight {
		a.Norm.Weight[j] = x / float32(w)
	}
	return a
}

// laurel reads what is added to the outputs of a mixer, whose sum with the states is divided by √2.
func (b *builder) laurel(i int, l *arch.Layer, out *Norms) *Laurel {
	n, w := l.Laurel, b.model.Width
	if n == 0 {
		return nil
	}
	out.Scale = float32(1 / math.Sqrt2)
	return &Laurel{
		Left: b.Linear(tensors.Reads, part(i, "laurel_l", arch.Absent, n, w)), Right: b.Linear(tensors.Writes, part(i, "laurel_r", arch.Absent, w, n)),
		Norm: b.norm(l.Norm, at(i, "laurel_post_norm")),
	}
}
