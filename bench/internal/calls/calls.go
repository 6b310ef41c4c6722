// Package calls makes the calls that are measured: attention and linear layers of any type, with
// input that is the same everywhere.
package calls

import (
	"time"

	"github.com/attn-go/attn/bench/internal/numbers"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
)

// A Call computes something, executed in the way that it is told.
type Call func(e kernel.Exec) error

// Time returns the nanoseconds of a call, on average over at least d. A first call, which is not
// counted, wakes the threads and brings numbers into caches. The clock is read a few times in all:
// in some virtual machines reading it takes longer than a short call.
func Time(call func() error, d time.Duration) (ns float64, err error) {
	if err := call(); err != nil {
		return 0, err
	}
	n, start := 0, time.Now()
	for more := 1; ; {
		for range more {
			if err := call(); err != nil {
				return 0, err
			}
		}
		n += more
		took := time.Since(start)
		if took >= d {
			return float64(took.Nanoseconds()) / float64(n), nil
		}
		left := float64(d-took) / float64(max(took, 1))
		more = int(min(1, left)*float64(n)) + 1
	}
}

// Attention returns a call with the next of several keys and values each time, so that they come
// from memory if they are many.
func Attention(q kernel.Tensor, k, v []kernel.Tensor, s kernel.Scoring) Call {
	b, h, l, d := q.Shape()[0], q.Shape()[1], q.Shape()[2], v[0].Shape()[3]
	out := kernel.BHLD(make([]float32, b*h*l*d), b, h, l, d)
	o, next := kernel.Options{Scoring: s}, 0
	return func(e kernel.Exec) error {
		next++
		o.Exec = e
		return kernel.Attention(out, q, k[next%len(k)], v[next%len(v)], &o)
	}
}

// Gradients returns a call of the backward pass of attention, after the forward pass has been
// computed once.
func Gradients(q, k, v, dout kernel.Tensor) (Call, error) {
	like := func(x kernel.Tensor, d int) kernel.Tensor {
		s := x.Shape()
		return kernel.BHLD(make([]float32, s[0]*s[1]*s[2]*d), s[0], s[1], s[2], d)
	}
	g, lse := kernel.Gradients{Q: like(q, q.Shape()[3]), K: like(k, k.Shape()[3]), V: like(v, v.Shape()[3])}, like(q, 1)
	err := kernel.Attention(like(dout, dout.Shape()[3]), q, k, v, &kernel.Options{Outputs: kernel.Outputs{LSE: lse}})
	return func(e kernel.Exec) error {
		return kernel.AttentionBackward(g, dout, q, k, v, lse, &kernel.BackwardOptions{Exec: e})
	}, err
}

// Queries returns queries of a batch row.
func Queries(heads, queries, size int) kernel.Tensor {
	return kernel.BHLD(numbers.Normals(heads*queries*size), 1, heads, queries, size)
}

// Product returns a call of a linear layer with rows of x, which quantizes them if int8 is set.
func Product(l *linear.Linear, x []float32, int8 bool) Call {
	n, k := l.Shape()
	rows := len(x) / k
	in, out := linear.DenseMatrix(x, rows, k), linear.DenseMatrix(make([]float32, rows*n), rows, n)
	o := linear.Options{DynamicInt8: int8}
	return func(e kernel.Exec) error {
		o.Exec = e
		return l.Apply(out, in, o)
	}
}
