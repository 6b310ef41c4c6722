package racetest

import (
	"bytes"
	"sync"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/kvcache"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/norm"
	"github.com/attn-go/attn/numeric"
)

// A program does things on several goroutines.
type program struct {
	name string
	call string // the function whose call races
	run  func()
}

// at runs all functions at the same time: no one waits for another.
func at(same ...func()) {
	var wg sync.WaitGroup
	for _, f := range same {
		wg.Go(f)
	}
	wg.Wait()
}

// must ends the program if a call returns an error.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

func tensor(b, h, l, d int) ([]float32, kernel.Tensor) {
	x := make([]float32, b*h*l*d)
	return x, kernel.BHLD(x, b, h, l, d)
}

// A call is a call of Attention, with enough for all of its kernels, and all memory that it uses.
type call struct {
	out, q, k, v, lse, weights, bias []float32
	f16                              []kernel.F16
	ints                             []int8
	scales                           []float32
	bools                            []bool
	tensors                          [4]kernel.Tensor
	o                                kernel.Options
}

const queries, keys, size = 20, 300, 32

func newPartials() *kernel.Partials {
	p, err := kernel.NewPartials(2, 1, 2, queries, size)
	must(err)
	return p
}

func newCall() *call {
	c := &call{bools: make([]bool, queries*keys), f16: make([]kernel.F16, 2*keys*size), ints: make([]int8, 2*keys*size)}
	c.out, c.tensors[0] = tensor(1, 2, queries, size)
	c.q, c.tensors[1] = tensor(1, 2, queries, size)
	c.k, c.tensors[2] = tensor(1, 2, keys, size)
	c.v, c.tensors[3] = tensor(1, 2, keys, size)
	c.lse, c.o.LSE = tensor(1, 2, queries, 1)
	c.weights, c.o.Weights = tensor(1, 2, queries, keys)
	c.bias, c.o.Bias = tensor(1, 1, queries, keys)
	c.o.Mask = kernel.Hidden(c.bools, [4]int{1, 1, queries, keys})
	return c
}

func (c *call) attend() {
	must(kernel.Attention(c.tensors[0], c.tensors[1], c.tensors[2], c.tensors[3], &c.o))
}

// while is a program that does something during the call.
func while(name string, f func(c *call)) program {
	return program{name, "kernel.Attention", func() {
		c := newCall()
		at(c.attend, func() { f(c) })
	}}
}

// whileListed is while for a call whose keys are rows 10 to 21.
func whileListed(name string, f func(c *call, rows []int32)) program {
	return program{name, "kernel.Attention", func() {
		c, rows := newListed()
		at(c.attend, func() { f(c, rows) })
	}}
}

func newListed() (c *call, rows []int32) {
	c, rows = newCall(), make([]int32, 12)
	for i := range rows {
		rows[i] = int32(10 + i)
	}
	columns := [4]int{1, 1, queries, len(rows)}
	c.weights, c.o.Weights = tensor(1, 2, queries, len(rows))
	c.o.Bias = kernel.Strided(c.bias, columns, [3]int{0, 0, keys})
	c.o.Mask = kernel.Hidden(c.bools, columns)
	c.o.KeyRows = kernel.KeyRows{Rows: rows, Shape: [4]int{1, 1, 1, len(rows)}}
	return c, rows
}

var sink float32

// racy are programs with a race.
var racy = []program{
	while("writes q", func(c *call) { c.q[2*queries*size-1] = 1 }),
	while("writes k", func(c *call) { c.k[keys*size+7] = 1 }),
	while("writes v", func(c *call) { c.v[0] = 1 }),
	while("writes the bias", func(c *call) { c.bias[3*keys+200] = 1 }),
	while("writes the mask", func(c *call) { c.bools[19*keys+299] = true }),
	while("reads out", func(c *call) { sink = c.out[5*size] }),
	while("writes out", func(c *call) { c.out[2*queries*size-1] = 1 }),
	while("reads LSE", func(c *call) { sink = c.lse[39] }),
	while("reads weights", func(c *call) { sink = c.weights[39*keys] }),
	whileListed("writes lists of rows", func(c *call, rows []int32) { rows[11] = 1 }),
	whileListed("writes a key that a list names", func(c *call, _ []int32) { c.k[(keys+20)*size] = 1 }),
	whileListed("writes the bias of entries", func(c *call, _ []int32) { c.bias[19*keys+11] = 1 }),
	whileListed("writes the mask of entries", func(c *call, _ []int32) { c.bools[2*12+11] = true }),
	{"writes keys of float16", "kernel.Attention", func() {
		c := newCall()
		c.tensors[2] = kernel.BHLD(c.f16, 1, 2, keys, size)
		at(c.attend, func() { c.f16[keys*size+5] = 1 })
	}},
	{"writes int8 values", "kernel.Attention", func() {
		c := newCall()
		c.scales = make([]float32, 2*keys)
		s := kernel.BHLD(c.scales, 1, 2, keys, 1)
		c.tensors[3] = kernel.BHLD(c.ints, 1, 2, keys, size).Scaled(&s)
		at(c.attend, func() { c.ints[100] = 1 })
	}},
	{"writes the scales of values", "kernel.Attention", func() {
		c := newCall()
		c.scales = make([]float32, 2*keys)
		s := kernel.BHLD(c.scales, 1, 2, keys, 1)
		c.tensors[3] = kernel.BHLD(c.ints, 1, 2, keys, size).Scaled(&s)
		at(c.attend, func() { c.scales[keys+200] = 1 })
	}},
	{"writes out of float16", "kernel.Attention", func() {
		c := newCall()
		c.tensors[0] = kernel.BHLD(c.f16, 1, 2, queries, size)
		at(c.attend, func() { c.f16[7] = 1 })
	}},
	{"writes a page that is read", "kernel.Attention", func() {
		c := paged()
		at(c.attend, func() { c.k[(2*2+1)*16*size] = 1 }) // the first row of page 2, head 1
	}},
	{"writes a block that one query sees", "kernel.Attention", func() {
		c := newCall()
		keep := make([]bool, queries*keys/50)
		keep[7*keys/50+4] = true // query 7, keys 200 to 249
		c.o = kernel.Options{Scoring: kernel.Scoring{Mask: kernel.BlockSparse(keep, 1, 50)}}
		at(c.attend, func() { c.k[(keys+249)*size] = 1 })
	}},
	{"writes a ragged row", "kernel.Attention", func() {
		c := ragged()
		at(c.attend, func() { c.q[7*size] = 1 })
	}},
	{"decodes while a key is written", "kernel.Attention", func() {
		c := newCall()
		c.o = kernel.Options{}
		c.tensors[0], c.tensors[1] = kernel.BHLD(c.out, 1, 2, 1, size), kernel.BHLD(c.q, 1, 2, 1, size)
		at(c.attend, func() { c.k[(keys-1)*size] = 1 })
	}},
	{"writes a head beside another's", "kernel.Attention", func() { // [B, L, H, D]: the heads of a token are one range
		c := newCall()
		c.tensors[2] = kernel.BLHD(c.k, 1, keys, 2, size)
		at(c.attend, func() { c.k[(keys-1)*2*size+size] = 1 })
	}},
	{"writes the weights of Additive", "kernel.Additive", func() {
		c, w := newCall(), make([]float32, size)
		at(func() { must(kernel.Additive(c.tensors[0], c.tensors[1], c.tensors[2], c.tensors[3], w, &c.o)) }, func() { w[31] = 1 })
	}},
	{"reads partials", "kernel.AttentionPartials", func() {
		c, p := newCall(), newPartials()
		at(func() {
			must(kernel.AttentionPartials(p, c.tensors[1], c.tensors[2], c.tensors[3], nil))
		}, func() { sink = p.Out[9] })
	}},
	{"writes partials that are merged", "kernel.MergePartials", func() {
		c, p := newCall(), newPartials()
		at(func() { must(kernel.MergePartials(c.tensors[0], []kernel.Partials{*p}, kernel.MergeOptions{})) }, func() { p.Sum[79] = 1 })
	}},
	{"reads what is merged", "kernel.MergePartials", func() {
		c, p := newCall(), newPartials()
		out := kernel.BHLD(c.f16, 1, 2, queries, size)
		at(func() { must(kernel.MergePartials(out, []kernel.Partials{*p}, kernel.MergeOptions{})) }, func() { sink = c.f16[33].Float32() })
	}},
	{"writes weights that are packed", "linear.New", func() {
		w := make([]kernel.F16, 60*48)
		at(func() {
			_, err := linear.New(linear.DenseMatrix(w, 60, 48), nil, kernel.Exec{})
			must(err)
		}, func() { w[60*48-1] = 1 })
	}},
	{"writes x of a linear layer", "linear.(*Linear).Apply", func() {
		l, x, out := layer()
		at(func() {
			must(l.Apply(linear.DenseMatrix(out, 10, 60), linear.DenseMatrix(x, 10, 48), linear.Options{}))
		}, func() { x[479] = 1 })
	}},
	{"writes the residual of a norm", "norm.RMSNorm", func() {
		x, y, r := make([]float32, 480), make([]float32, 480), make([]float32, 480)
		t := func(data []float32) kernel.Tensor { return kernel.BLHD(data, 1, 10, 1, 48) }
		at(func() { r[479] = 1 }, func() {
			must(norm.RMSNorm(t(y), t(x), nil, 1e-5, norm.Options{Residual: t(r)}))
		})
	}},
	{"reads out of a norm", "norm.LayerNorm", func() {
		x, y := make([]float32, 480), make([]float32, 480)
		t := func(data []float32) kernel.Tensor { return kernel.BLHD(data, 1, 10, 1, 48) }
		at(func() { sink = y[479] }, func() { must(norm.LayerNorm(t(y), t(x), nil, nil, 1e-5, norm.Options{})) })
	}},
	{"reads out of a linear layer", "linear.(*Linear).Apply", func() {
		l, x, out := layer()
		at(func() {
			must(l.Apply(linear.DenseMatrix(out, 10, 60), linear.DenseMatrix(x, 48, 10).T(), linear.Options{}))
		}, func() { sink = out[599] })
	}},
	{"writes the packed form of a linear layer in use", "linear.(*Linear).Apply", func() {
		l, x, out := layer()
		var b bytes.Buffer
		_, err := l.WriteTo(&b)
		must(err)
		data := b.Bytes()
		packed, err := linear.FromPacked(data)
		must(err)
		at(func() {
			must(packed.Apply(linear.DenseMatrix(out, 10, 60), linear.DenseMatrix(x, 10, 48), linear.Options{}))
		}, func() { data[len(data)-1] = 1 })
	}},
	{"reads rows of a linear layer that are looked up", "linear.(*Linear).Rows", func() {
		l, _, out := layer()
		at(func() { must(l.Rows(linear.DenseMatrix(out, 2, 48), []int32{59, 0}, kernel.Exec{})) }, func() { sink = out[95] })
	}},
	{"reads what a slice function writes", "numeric.Exp2Slice", func() {
		x, y := make([]float32, 99), make([]float32, 99)
		at(func() { must(numeric.Exp2Slice(y, x, kernel.Exec{})) }, func() { sink = y[98] })
	}},
	{"writes what a slice function reads", "numeric.TanhSlice", func() {
		x, y := make([]float32, 99), make([]float32, 99)
		at(func() { must(numeric.TanhSlice(y, x, kernel.Exec{})) }, func() { x[0] = 1 })
	}},
	{"reads a page that is stored", "kvcache.(*Batch).Store", func() {
		memory, b := cache()
		_, rows := tensor(2, 2, 3, size)
		at(func() { must(b.Store(0, rows, rows)) }, func() { sink = memory[0][5].Float32() })
	}},
	{"writes rows that are stored", "kvcache.(*Batch).Store", func() {
		_, b := cache()
		k, rows := tensor(2, 2, 3, size)
		at(func() { must(b.Store(0, rows, rows)) }, func() { k[2*2*3*size-1] = 1 })
	}},
}

// correct are programs without a race.
var correct = []program{
	{name: "waits for the call", run: func() {
		c, done := newCall(), make(chan bool)
		go func() { c.attend(); done <- true }()
		<-done
		sink = c.out[0]
		c.q[0], c.k[0], c.v[0], c.bools[0] = 1, 1, 1, true
		c.attend()
	}},
	{name: "shares inputs", run: func() {
		c := newCall()
		d := *c
		d.o = kernel.Options{Scoring: kernel.Scoring{Mask: c.o.Mask, Bias: c.o.Bias}}
		_, d.tensors[0] = tensor(1, 2, queries, size)
		at(c.attend, d.attend, func() { sink = c.k[7] + c.q[7] + c.bias[7] })
	}},
	{name: "writes between rows of out", run: func() { // the gap behind each row, and the other half of the heads
		c := newCall()
		all := make([]float32, 2*2*queries*(size+3))
		part := func(from int) kernel.Tensor {
			return kernel.Strided(all[from:], [4]int{1, 2, queries, size}, [3]int{0, size + 3, 4 * (size + 3)})
		}
		d := *c
		d.o = kernel.Options{}
		c.tensors[0], d.tensors[0] = part(0), part(2*(size+3))
		at(c.attend, d.attend, func() {
			for i := size; i < len(all); i += size + 3 {
				all[i], all[i+1], all[i+2] = 1, 1, 1
			}
		})
	}},
	{name: "writes keys after the lengths", run: func() {
		c := newCall()
		c.o.Mask = c.o.Mask.And(kernel.KeyLengths([]int{270}))
		at(c.attend, func() {
			for _, x := range [...][]float32{c.k, c.v} {
				for head := range 2 {
					clear(x[(head*keys+270)*size : (head+1)*keys*size])
				}
			}
		})
	}},
	{name: "writes what lists do not name", run: func() {
		c, _ := newListed()
		at(c.attend, func() { c.k[22*size], c.v[9*size], c.bias[12], c.bools[12*queries] = 1, 1, 1, true })
	}},
	{name: "writes keys after the diagonal", run: func() {
		c := newCall()
		c.o.Mask = kernel.Causal(250)
		at(c.attend, func() { clear(c.k[keys*size+(250+queries)*size:]); clear(c.v[keys*size+(250+queries)*size:]) })
	}},
	{name: "writes blocks of keys that no query sees", run: func() {
		c := newCall()
		c.o.Mask = kernel.BlockSparse([]bool{false, true, false, false, true, false, false, true, false, false, true, false}, queries/2, keys/6)
		at(c.attend, func() {
			clear(c.k[:keys/6*size])
			clear(c.v[keys*size+keys/6*5*size:])
			clear(c.k[3*keys/6*size : 4*keys/6*size])
		})
	}},
	{name: "decodes while keys are appended", run: func() {
		c := newCall()
		c.o = kernel.Options{Scoring: kernel.Scoring{Mask: kernel.Window(40, 0), QueryStart: []int{280}}}
		c.tensors[0], c.tensors[1] = kernel.BHLD(c.out, 1, 2, 1, size), kernel.BHLD(c.q, 1, 2, 1, size)
		at(c.attend, func() { clear(c.k[281*size : keys*size]); clear(c.v[281*size : keys*size]); clear(c.k[:240*size]) })
	}},
	{name: "writes pages of others", run: func() {
		c := paged()
		page := 2 * 16 * size
		at(c.attend, func() { // page 1 belongs to nobody, and the sequence ends in page 3
			clear(c.k[page : 2*page])
			for head := range 2 {
				clear(c.v[3*page+head*16*size+5*size : 3*page+(head+1)*16*size])
			}
		})
	}},
	{name: "writes rows around ragged ones", run: func() {
		c := ragged()
		at(c.attend, func() { clear(c.q[:2*size]); clear(c.q[12*size:]); clear(c.out[12*size:]) })
	}},
	{name: "two sequences of a cache", run: func() {
		c, err := kvcache.New(kvcache.Config{Heads: 2, HeadSize: size, PageSize: 4, Pages: 40, KeyType: kernel.Float16, ValueType: kernel.Float16, Window: 20})
		must(err)
		first := c.NewSequence()
		prompt, err := c.NewBatch(first)
		must(err)
		_, rows := tensor(1, 2, 9, size)
		must(prompt.Append(rows, rows))
		second, err := first.Fork(9) // shares a page that is partly filled
		must(err)
		step := func(s *kvcache.Sequence) func() {
			return func() {
				b, err := c.NewBatch(s)
				must(err)
				for range 30 {
					_, x := tensor(1, 2, 1, size)
					_, out := tensor(1, 2, 1, size)
					must(b.Append(x, x))
					k, v := b.View(0)
					must(kernel.Attention(out, x, k, v, &kernel.Options{Scoring: b.Scoring()}))
				}
			}
		}
		at(step(first), step(second))
	}},
	{name: "rows of one matrix", run: func() {
		l, x, out := layer()
		half := func(i int) func() {
			return func() {
				must(l.Apply(linear.StridedMatrix(out[i*60:], 5, 60, 120, 1), linear.StridedMatrix(x[i*48:], 5, 48, 96, 1), linear.Options{}))
			}
		}
		at(half(0), half(1))
	}},
	{name: "slices side by side", run: func() {
		x, y := make([]float32, 100), make([]float32, 100)
		at(func() { must(numeric.Exp2Slice(y[:33], x[:33], kernel.Exec{})) }, func() { must(numeric.TanhSlice(y[33:], x[33:], kernel.Exec{})) })
	}},
}

// paged returns a call over keys in pages of 16: the one sequence has the pages 0, 2 and 3, the
// last of which has 5 keys.
func paged() *call {
	c := newCall()
	table := &kernel.PageTable{Pages: [][]int32{{0, 2, 3}}, Lengths: []int{37}}
	c.o = kernel.Options{}
	c.tensors[2], c.tensors[3] = kernel.BHLD(c.k, 4, 2, 16, size).Paged(table), kernel.BHLD(c.v, 4, 2, 16, size).Paged(table)
	return c
}

// ragged returns a call of one head whose queries are rows 2 to 11 of q, in two sequences.
func ragged() *call {
	c := newCall()
	starts := []int{2, 8, 12}
	c.o = kernel.Options{}
	c.tensors[0], c.tensors[1] = kernel.Ragged(c.out, starts, 1, size), kernel.Ragged(c.q, starts, 1, size)
	c.tensors[2], c.tensors[3] = kernel.BHLD(c.k, 2, 1, keys, size), kernel.BHLD(c.v, 2, 1, keys, size)
	return c
}

// layer returns a linear layer of 48 inputs and 60 outputs, and memory for 10 rows of both.
func layer() (l *linear.Linear, x, out []float32) {
	l, err := linear.New(linear.DenseMatrix(make([]float32, 60*48), 60, 48), nil, kernel.Exec{})
	must(err)
	return l, make([]float32, 480), make([]float32, 600)
}

// cache returns a batch of two sequences that have grown by three tokens, and the memory of
// keys and values, float16.
func cache() (memory [2][]kernel.F16, b *kvcache.Batch) {
	var t [2]kernel.Tensor
	for i := range t {
		memory[i] = make([]kernel.F16, 4*2*8*size)
		t[i] = kernel.BHLD(memory[i], 4, 2, 8, size)
	}
	c, err := kvcache.NewWithMemory(t[:1], t[1:], 0)
	must(err)
	b, err = c.NewBatch(c.NewSequence(), c.NewSequence())
	must(err)
	must(b.Extend(3))
	return memory, b
}
