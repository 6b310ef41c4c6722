package network

import (
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/tensors"
)

// An Embedding makes the first states of tokens: to their embeddings it adds embeddings of their
// types, and then of their positions. This is the order of BERT.
type Embedding struct {
	Words            Table
	Width            int            // of embeddings
	Project          tensors.Linear // makes states of embeddings; without outputs they are states
	Types, Positions []float32      // [.., Width], or nil
	Padding          int            // -1, or the id that takes no position; other positions begin after it (RoBERTa)
	Scale            float32        // multiplies embeddings, if not 0
	Norm             *Norm          // of the sums, or nil
	Ahead            *Ahead         // or nil
	Placeholders     arch.Placeholders
	Soft             []float32 // [.., Width], of the tokens from FirstSoft on, or nil
	FirstSoft        int32
}

// An Ahead makes the states of a layer that guesses further tokens: a linear layer joins the norm
// of a token's embedding and the norm of the state before it, Pass.Before.
type Ahead struct {
	Token, State *Norm
	Join         tensors.Linear
}

// join makes states of embeddings.
func (a *Ahead) join(p *Pass, x []float32) error {
	defer p.release(p.mark())
	rows := len(p.Tokens)
	w := len(x) / rows
	both, before := p.floats.take(2*len(x)), p.floats.take(len(x))
	if err := a.Token.apply(p.Exec, x, x, nil, false); err != nil {
		return err
	}
	if err := a.State.apply(p.Exec, before, p.Before, nil, false); err != nil {
		return err
	}
	for i := range rows {
		copy(both[2*i*w:], x[i*w:][:w])
		copy(both[(2*i+1)*w:], before[i*w:][:w])
	}
	return p.apply(&a.Join, x, both, rows, 2*w, 0)
}

// A Table has embeddings of tokens. Rows writes the embeddings of ids to x, [ids, Width].
type Table interface {
	Rows(x []float32, ids []int32, exec kernel.Exec) error
}

// Packed is the table that shares its weights with a layer.
type Packed struct{ *linear.Linear }

// Rows implements Table.
func (l Packed) Rows(x []float32, ids []int32, exec kernel.Exec) error {
	return l.Linear.Rows(linear.DenseMatrix(x, len(ids), len(x)/len(ids)), ids, exec)
}

// look computes the states of the tokens of a pass.
func (e *Embedding) look(p *Pass, x []float32) error {
	if e.Project.N == 0 {
		if err := e.sum(p, x); err != nil || e.Ahead == nil {
			return err
		}
		return e.Ahead.join(p, x)
	}
	defer p.release(p.mark())
	rows := len(p.Tokens)
	y := p.floats.take(rows * e.Width)
	if err := e.sum(p, y); err != nil {
		return err
	}
	return p.apply(&e.Project, x, y, rows, e.Width, 0)
}

// sum computes the embeddings of the tokens of a pass, [tokens, Width].
func (e *Embedding) sum(p *Pass, x []float32) error {
	if err := e.Words.Rows(x, e.Placeholders.Known(p.Tokens), p.Exec); err != nil {
		return err
	}
	if e.Scale != 0 {
		scale(x, e.Scale)
	}
	for i, id := range p.Tokens {
		if at := (int(id) - int(e.FirstSoft)) * e.Width; at >= 0 && at < len(e.Soft) {
			copy(x[i*e.Width:], e.Soft[at:][:e.Width])
		}
	}
	for i, t := range p.Types {
		add(x[i*e.Width:][:e.Width], e.Types, int(t))
	}
	if e.Positions != nil {
		e.place(p, x, e.Width)
	}
	if e.Norm == nil {
		return nil
	}
	return e.Norm.apply(p.Exec, x, x, nil, false)
}

// place adds the embeddings of positions, which are counted in each text.
func (e *Embedding) place(p *Pass, x []float32, w int) {
	for text := range p.texts() {
		position := e.Padding
		for i := p.Starts[text]; i < p.Starts[text+1]; i++ {
			at := e.Padding
			if int(p.Tokens[i]) != e.Padding {
				position++
				at = position
			}
			add(x[i*w:][:w], e.Positions, at)
		}
	}
}

// add adds a row of a table, or nothing without one.
func add(x, table []float32, row int) {
	if table == nil {
		return
	}
	for i, y := range table[row*len(x):][:len(x)] {
		x[i] += y
	}
}
