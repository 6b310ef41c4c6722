package kernel_test

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
)

// Tests that put every slice of a call right before or right after memory that must not
// be touched: a single byte read or written beside it is a fault.

// put returns t, neither paged nor ragged, with its elements and scales in the arena. Its
// slice ends with its last element.
func put(a *testutil.Arena, name string, t kernel.Tensor) kernel.Tensor {
	v, n := contracttest.View(&t), elements(t)
	switch t.DType() {
	case kernel.Float32:
		return kernel.Strided(copied(a, name, v.F32()[:n]), t.Shape(), t.Strides())
	case kernel.Int8:
		scales := put(a, "the scales of "+name, kernel.Tensor(*v.Scales()))
		return kernel.Strided(copied(a, name, v.I8()[:n]), t.Shape(), t.Strides()).Scaled(&scales)
	}
	if v.DType().Size() == 2 {
		return kernel.Tensor(view.Other(v.DType(), copied(a, name, v.U16()[:n]), t.Shape(), t.Strides()))
	}
	x := kernel.Tensor(view.FromBytes(v.DType(), copied(a, name, v.Bytes()[:v.DType().Bytes(n)]), t.Shape(), t.Strides()))
	if v.Scales() == nil {
		return x
	}
	scales := put(a, "the scales of "+name, kernel.Tensor(*v.Scales()))
	return x.Scaled(&scales)
}

// elements returns how many elements there are from the first of t to the last.
func elements(t kernel.Tensor) int {
	shape, strides := t.Shape(), t.Strides()
	if shape[0] == 0 || shape[1] == 0 || shape[2] == 0 {
		return 0
	}
	return (shape[0]-1)*strides[0] + (shape[1]-1)*strides[1] + (shape[2]-1)*strides[2] + shape[3]
}

// copied returns the slice in the arena.
func copied[E any](a *testutil.Arena, name string, s []E) []E {
	if len(s) == 0 {
		return s
	}
	c := testutil.Slice[E](a, name, len(s))
	copy(c, s)
	return c
}

// putRagged returns what contracttest.Ragged does, in the arena.
func putRagged(a *testutil.Arena, name string, t kernel.Tensor, lengths []int, start int) kernel.Tensor {
	t, starts := contracttest.Packed(t, lengths, start)
	t = put(a, name, t)
	if starts != nil {
		t = t.Ragged(copied(a, "the starts of "+name, starts))
	}
	return t
}

// A mover moves the slices of masks to an arena.
type mover struct{ *testutil.Arena }

func (m mover) Ints(s []int) []int    { return copied(m.Arena, "a mask's lengths", s) }
func (m mover) IDs(s []int32) []int32 { return copied(m.Arena, "a mask's ids", s) }
func (m mover) Bools(s []bool) []bool { return copied(m.Arena, "a mask's bools", s) }

// TestGuardAttention makes whole calls with every tensor, and its scales, right after a page
// without access, and right before one: the slices end with the last element that a row needs.
// Quick tests make a quarter of the calls, each at one place. Where only Go runs, whose indices are
// checked, they make a quarter of these.
func TestGuardAttention(t *testing.T) {
	const slices, size = 6, 1 << 20
	for i, place := range []testutil.Placement{testutil.AtStart, testutil.AtEnd} {
		a := testutil.NewGuardedArena(t, place, slices, size)
		for _, c := range append(cases(), decodeCases()...) {
			if c.Seed%2 != 0 || testutil.Quick() && c.Seed/4%4 != uint64(2*i) || contracttest.QuickGo() && c.Seed/16%4 != 0 {
				continue
			}
			if c.Seed%4 == 0 {
				c = c.With(contracttest.AllTypes()[int(c.Seed/4*31)%len(contracttest.AllTypes())])
			}
			a.Reset(0)
			q, k, v := c.Typed(c.Inputs())
			want := c.Contract(q, k, v)
			q, k, v = put(a, "q", q), put(a, "k", k), put(a, "v", v)
			out := put(a, "out", want)
			var memory []byte // of out
			if elements(out) > 0 {
				memory = a.Slots[len(a.Slots)-1].Data
			}
			contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
				for i := range memory {
					memory[i] = testutil.Margin
				}
				opts := c.Options(kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: 1}})
				if err := kernel.Attention(out, q, k, v, &opts); err != nil {
					t.Fatal(err)
				}
				contracttest.Same(t, fmt.Sprint(c.Types, c), &out, &want)
			})
		}
	}
}

// TestGuardOptions makes calls with options with every slice that they hold, and every
// tensor, right after a page without access, and right before one. Quick tests make a third
// of the calls if only Go runs, whose indices are checked; TestOptions makes all.
func TestGuardOptions(t *testing.T) {
	const slices, size = 30, 2 << 20 // more and larger than any case's
	for _, place := range []testutil.Placement{testutil.AtStart, testutil.AtEnd} {
		a := testutil.NewGuardedArena(t, place, slices, size)
		eachOptionCase(func(n int, c *optionCase) {
			if contracttest.QuickGo() && n%3 != 0 {
				return
			}
			q, k, v := c.Inputs()
			o := c.options()
			c.poison(q, k, v, &o)
			q, k, v = c.Typed(q, k, v)
			c.outputs(&o)
			lengths := c.raggedLengths()
			o.KeyRows, o.Parents = c.lists(lengths), c.parents(&o)

			// The same call on ordinary memory.
			plain := o
			rq, rk, rv := lengths.pack(q, k, v)
			want := [...]kernel.Tensor{lengths.packOutputs(c.Out(), &plain), plain.LSE, plain.Weights, plain.Scores}
			if err := kernel.Attention(want[0], rq, rk, rv, &plain); err != nil {
				t.Fatal(err)
			}

			a.Reset(0)
			q = putRagged(a, "q", q, lengths.queries, lengths.start)
			k, v = putRagged(a, "k", k, lengths.keys, lengths.start), putRagged(a, "v", v, lengths.keys, lengths.start)
			out := putRagged(a, "out", c.Out(), lengths.queries, lengths.start)
			for name, x := range map[string]*kernel.Tensor{"LSE": &o.LSE, "Weights": &o.Weights, "Scores": &o.Scores} {
				if contracttest.IsSet(*x) {
					*x = putRagged(a, name, *x, lengths.queries, lengths.start)
				}
			}
			putOptions(a, c, &o)
			contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
				o.Tier = tier
				got := [...]kernel.Tensor{out, o.LSE, o.Weights, o.Scores}
				for x := range got {
					clear(contracttest.Floats(got[x]))
					clear(contracttest.View(&got[x]).U16())
				}
				if err := kernel.Attention(out, q, k, v, &o); err != nil {
					t.Fatal(err)
				}
				for x := range got {
					contracttest.Same(t, fmt.Sprintf("output %d, levels %v, slices %v", x, c.levels, place), &got[x], &want[x])
				}
			})
		})
	}
}

// TestGuardOddColumns makes calls on int8 keys and values right before a page without access.
// Kernels for integers would take columns after the end of the last row. Rows lie side by side,
// with rows of another head between them, and in pages, of which the last one in memory has the
// first keys. Calls take all keys, lists of them, or a tree.
func TestGuardOddColumns(t *testing.T) {
	const keys, heads = 480, 2
	a := testutil.NewGuardedArena(t, testutil.AtEnd, 4, 1<<20)
	permuted, parents := make([]int32, keys), make([]int32, 40)
	for i := range permuted {
		permuted[i] = int32((i*7 + 3) % keys)
	}
	for i := range parents {
		parents[i] = int32((i+1)/2 - 1)
	}
	for i, size := range [][2]int{{72, 72}, {199, 41}, {9, 133}} {
		for n := range 24 {
			if !testutil.Every(24*i+n, 5, 11) { // coprime to the numbers of layouts and options
				continue
			}
			layout, queries := n%4, []int{1, len(parents)}[n/4%2]
			c := contracttest.Case{B: 1, H: 2 * heads, HKV: heads, Lq: queries, Lk: keys, D: size[0], Dv: size[1]}
			o := kernel.Options{Scoring: kernel.Scoring{DynamicInt12: true}, Exec: kernel.Exec{Threads: 1}}
			switch n / 8 {
			case 1:
				o.KeyRows = kernel.KeyRows{Rows: permuted, Shape: [4]int{1, 1, 1, keys}}
			case 2:
				o.Parents, o.QueryStart = parents[:queries], []int{keys - queries}
			}
			lay := func(x kernel.Tensor, put func(x kernel.Tensor) kernel.Tensor) kernel.Tensor {
				x = int8Rows(x)
				scales := x.Scales()
				codes, of, d := contracttest.View(&x).I8(), contracttest.Floats(scales), x.Shape()[3]
				if layout == 0 {
					return put(x)
				}
				if layout == 1 {
					scales = kernel.BLHD(of, 1, keys, heads, 1)
					return put(kernel.BLHD(codes, 1, keys, heads, d).Scaled(&scales))
				}
				page := []int{40, 96}[layout-2]
				table := kernel.PageTable{Pages: [][]int32{nil}, Lengths: []int{keys}}
				for i := keys / page; i > 0; i-- {
					table.Pages[0] = append(table.Pages[0], int32(i-1))
				}
				scales = kernel.BHLD(of, keys/page, heads, page, 1)
				return put(kernel.BHLD(codes, keys/page, heads, page, d).Scaled(&scales)).Paged(&table)
			}
			t.Run(fmt.Sprintf("%v/layout=%d/%d queries/options=%d", size, layout, queries, n/8), func(t *testing.T) {
				q, k, v := c.Inputs()
				inPlace := func(x kernel.Tensor) kernel.Tensor { return x }
				want := c.Run(t, q, lay(k, inPlace), lay(v, inPlace), o)
				a.Reset(0)
				guarded := func(x kernel.Tensor) kernel.Tensor { return put(a, "keys or values", x) }
				k, v = lay(k, guarded), lay(v, guarded)
				contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
					o.Tier = tier
					got := c.Run(t, q, k, v, o)
					contracttest.Same(t, "out", &got, &want)
				})
			})
		}
	}
}

// putOptions moves all that options hold into the arena, but for the outputs.
func putOptions(a *testutil.Arena, c *optionCase, o *kernel.Options) {
	o.KeyRows.Rows, o.Parents = copied(a, "the lists", o.KeyRows.Rows), copied(a, "the parents", o.Parents)
	if contracttest.IsSet(o.Bias) {
		o.Bias = put(a, "Bias", o.Bias)
	}
	o.ALiBi, o.Sinks = copied(a, "ALiBi", o.ALiBi), copied(a, "Sinks", o.Sinks)
	o.QueryStart, o.KeyStart = copied(a, "QueryStart", o.QueryStart), copied(a, "KeyStart", o.KeyStart)
	o.Dropout.Sequences = copied(a, "Sequences", o.Dropout.Sequences)
	o.Mask = c.Mask.Moved(mover{a}).Kernel()
}

// TestGuardKeyLengths makes calls whose keys and values, after the lengths that KeyLengths
// gives, lie in memory that must not be touched.
func TestGuardKeyLengths(t *testing.T) {
	if !testutil.Guards {
		t.Skip("guard pages are not available here")
	}
	const d = 16
	page := os.Getpagesize()
	for _, dtype := range []kernel.DType{kernel.Float32, kernel.BFloat16} {
		size := map[kernel.DType]int{kernel.Float32: 4, kernel.BFloat16: 2}[dtype]
		visible, all := 5*page/(size*d), 7*page/(size*d) // keys
		for _, queries := range []int{1, 3, 40} {
			c := contracttest.Case{B: 1, H: 2, HKV: 1, Lq: queries, Lk: visible, D: d, Dv: d, Seed: 5}
			c.Types = contracttest.TypesOf(kernel.Float32, dtype, dtype, kernel.Float32)
			q, k, v := c.Typed(c.Inputs())
			want := c.Contract(q, k, v)
			fence := func(x kernel.Tensor) kernel.Tensor {
				memory := testutil.GuardedRegion(t, 7*page)
				shape := [4]int{1, 1, all, d}
				to := kernel.Tensor(view.Floats(testutil.Typed[float32](memory), shape, view.Contiguous(shape)))
				if dtype == kernel.BFloat16 {
					to = kernel.Tensor(view.Other(view.BFloat16, testutil.Typed[uint16](memory), shape, view.Contiguous(shape)))
				}
				for l := range visible {
					contracttest.CopyRow(&to, 0, 0, l, &x, 0, 0, l)
				}
				testutil.Fence(t, memory[5*page:])
				return to
			}
			k, v = fence(k), fence(v)
			c.Lk, c.Mask = all, contracttest.KeyLengths([]int{visible})
			contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
				for threads := 1; threads <= 2; threads++ {
					got := c.Run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: threads}})
					contracttest.Same(t, fmt.Sprintf("%v, %d queries, threads=%d", dtype, queries, threads), &got, &want)
				}
			})
		}
	}
}

// fenced returns memory for pages, [pages, H, size, D] of E, each between two pages of
// the system without access: right behind one or right before one. close makes
// a page itself as untouchable.
func fenced[E kernel.Element](t *testing.T, pages, h, size, d int, layout string, p testutil.Placement) (memory kernel.Tensor, close func(page int)) {
	unit := os.Getpagesize()
	elem, per := int(unsafe.Sizeof(*new(E))), perSlice[E]()
	bytes := h * size * d * elem / per
	used := (bytes + unit - 1) / unit * unit
	slot := used + unit
	mem := testutil.GuardedRegion(t, pages*slot)
	base := 0
	if p == testutil.AtEnd {
		base = used - bytes
	}
	for i := range pages {
		testutil.Fence(t, mem[i*slot+used:(i+1)*slot])
	}
	data := unsafe.Slice((*E)(unsafe.Pointer(&mem[base])), ((pages-1)*slot+bytes)/elem)
	strides := [3]int{slot / elem * per, size * d, d}
	if layout == "NHD" {
		strides[1], strides[2] = d, h*d
	}
	return kernel.Strided(data, [4]int{pages, h, size, d}, strides), func(page int) { testutil.Fence(t, mem[page*slot:page*slot+used]) }
}

// perSlice returns how many elements of a tensor an element of its slice holds.
func perSlice[E kernel.Element]() int {
	x := kernel.BHLD[E](nil, 0, 0, 0, 0)
	return contracttest.View(&x).DType().PerByte()
}

// fencedOf is fenced for any type. The pages of scales are fenced, too.
func fencedOf(t *testing.T, dtype kernel.DType, pages, h, size, d int, layout string, p testutil.Placement) (memory kernel.Tensor, close func(page int)) {
	switch dtype {
	case kernel.Float16:
		return fenced[kernel.F16](t, pages, h, size, d, layout, p)
	case kernel.BFloat16:
		return fenced[kernel.BF16](t, pages, h, size, d, layout, p)
	case kernel.Float8E4M3:
		return fenced[kernel.F8E4M3](t, pages, h, size, d, layout, p)
	case kernel.Float8E5M2:
		return fenced[kernel.F8E5M2](t, pages, h, size, d, layout, p)
	case kernel.Int8:
		scales, closeScales := fenced[float32](t, pages, h, size, 2, layout, p)
		memory, closePages := fenced[int8](t, pages, h, size, d, layout, p)
		return memory.Scaled(&scales), func(page int) { closeScales(page); closePages(page) }
	case kernel.Int4:
		scales, closeScales := fenced[float32](t, pages, h, size, 2, layout, p)
		memory, closePages := fenced[kernel.Int4x2](t, pages, h, size, d, layout, p)
		return memory.Scaled(&scales), func(page int) { closeScales(page); closePages(page) }
	}
	return fenced[float32](t, pages, h, size, d, layout, p)
}

// TestGuardPages makes calls on pages that lie between pages of the system without access, after
// having closed all pages that no row sees: pages without a sequence, and pages before a window.
// Two sequences share the pages of their beginning.
func TestGuardPages(t *testing.T) {
	if !testutil.Guards {
		t.Log("guard pages are not available here: the pages are open")
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	n := 0
	for _, dtype := range contracttest.KeyTypes() {
		for _, size := range []int{16, 32, 64, 128, 256} {
			for _, p := range []testutil.Placement{testutil.AtStart, testutil.AtEnd} {
				if n++; testing.Short() && n%4 != 0 {
					continue
				}
				layout := pageLayouts[n/2%2]
				t.Run(fmt.Sprintf("%v/size=%d/%s/%v", dtype, size, layout, p), func(t *testing.T) {
					guardPages(t, dtype, size, layout, p)
				})
			}
		}
	}
}

func guardPages(t *testing.T, dtype kernel.DType, size int, layout string, p testutil.Placement) {
	const queries, window, shared = 20, 200, 50 // tokens
	lengths := []int{540, 110, 70}
	c := contracttest.Case{B: 3, H: 4, HKV: 2, Lq: queries, Lk: 540, D: 12, Dv: 8, Seed: 3}
	if dtype == kernel.Int8 {
		c.D, c.Dv = 10, 10 // 2 scales each
	}
	if dtype == kernel.Int4 {
		c.D, c.Dv = 28, 28 // likewise
	}
	c.Mask = contracttest.Causal(0).And(contracttest.Window(window, 0)).And(contracttest.KeyLengths(lengths))
	q, k, v := c.Inputs()
	k, v = contracttest.As(k, dtype), contracttest.As(v, dtype)
	for h := range c.HKV { // sequence 2 is a fork of sequence 1
		for l := range shared {
			contracttest.CopyRow(&k, 2, h, l, &k, 1, h, l)
			contracttest.CopyRow(&v, 2, h, l, &v, 1, h, l)
		}
	}
	starts := make([]int, c.B)
	for b, n := range lengths {
		starts[b] = n - queries
	}
	want := c.Run(t, q, k, v, kernel.Options{Scoring: kernel.Scoring{QueryStart: starts}, Exec: kernel.Exec{Threads: 1}})

	pages := 1000/size + 8
	table := kernel.PageTable{Lengths: lengths}
	free := randomOrder(pages, uint64(size))
	for b, n := range lengths {
		var list []int32
		if b == 2 {
			list = append(list, table.Pages[1][:shared/size]...)
		}
		for len(list) < ints.CeilDiv(n, size) {
			list, free = append(list, free[0]), free[1:]
		}
		table.Pages = append(table.Pages, list)
	}
	memoryK, closeK := fencedOf(t, dtype, pages, c.HKV, size, c.D, layout, p)
	memoryV, closeV := fencedOf(t, dtype, pages, c.HKV, size, c.Dv, layout, p)
	fillPages(&memoryK, &k, &table)
	fillPages(&memoryV, &v, &table)
	open := map[int32]bool{}
	for b, n := range lengths {
		for _, page := range table.Pages[b][max(0, n-queries-window)/size:] {
			open[page] = true
		}
	}
	for page := range pages {
		if !open[int32(page)] {
			closeK(page)
			closeV(page)
		}
	}
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		for _, n := range []int{queries, 3, 1} { // many rows, and few
			o := kernel.Options{Scoring: kernel.Scoring{Mask: kernel.Causal(0).And(kernel.Window(window, 0))}, Exec: kernel.Exec{Tier: tier, Threads: 1 + n%2}}
			for _, start := range starts {
				o.QueryStart = append(o.QueryStart, start+queries-n)
			}
			last := func(x kernel.Tensor) kernel.Tensor { return contracttest.Rows(x, queries-n, queries) }
			out := c.Out()
			got, want := last(out), last(want)
			if err := kernel.Attention(got, last(q), memoryK.Paged(&table), memoryV.Paged(&table), &o); err != nil {
				t.Fatal(err)
			}
			contracttest.Same(t, fmt.Sprintf("%d queries", n), &got, &want)
		}
	})
}

// TestGuardPagesCatches shows that TestGuardPages can fail.
func TestGuardPagesCatches(t *testing.T) {
	if !testutil.Guards {
		t.Skip("guard pages are not available here")
	}
	memory, closePage := fenced[float32](t, 3, 2, 16, 8, "HND", testutil.AtEnd)
	closePage(1)
	touched := func(i int) (fault bool) {
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		defer func() { fault = recover() != nil }()
		contracttest.Floats(memory)[i]++
		return false
	}
	var got []bool
	for _, i := range []int{0, 255, 256, memory.Strides()[0] - 1, memory.Strides()[0], 2 * memory.Strides()[0], len(contracttest.Floats(memory)) - 1} {
		got = append(got, touched(i))
	}
	if want := []bool{false, false, true, true, true, false, false}; !slices.Equal(got, want) {
		t.Errorf("faults %v, want %v", got, want)
	}
}

// TestStartsChangeDuringCall: a program that changes the starts of a ragged tensor
// during a call breaks the rules, but no memory outside of its slices is touched: the
// call panics as an index out of range does.
func TestStartsChangeDuringCall(t *testing.T) {
	const d, tokens, beyond = 32, 48, 64
	for _, tier := range kernel.Tiers() {
		for _, starts := range [][]int{{0, tokens}, {0, 1, tokens}} {
			memory := testutil.Filled((tokens+beyond)*d, 12345)
			out := memory[:tokens*d]
			x := testutil.Floats(tokens * d)
			changed := append([]int(nil), starts...)
			ragged := func(s []float32) kernel.Tensor { return kernel.Ragged(s, changed, 1, d) }
			value := func() (value any) {
				defer func() { value = recover() }()
				// K and V are not ragged: only the rows of q and out move.
				keys := kernel.BHLD(x, len(starts)-1, 1, tokens/(len(starts)-1), d)
				t.Log(kernel.Attention(ragged(out), ragged(x), keys, keys, &kernel.Options{
					Exec: kernel.Exec{Tier: tier, Threads: 1},
					Scoring: kernel.Scoring{Score: func(*kernel.ScoreTile) {
						for i := range changed {
							changed[i] = starts[i] + beyond/2
						}
					}},
				}))
				return nil
			}()
			if text, ok := value.(string); !ok || !strings.Contains(text, "changed during the call") {
				t.Errorf("%s: the call panicked with %v", tier, value)
			}
			for i, y := range memory[len(out):] {
				if y != 12345 {
					t.Fatalf("%s: element %d behind out was overwritten", tier, i)
				}
			}
		}
	}
}

// TestKeyStartsChangeDuringCall: likewise for keys and values of every type, in tiles and
// in skinny kernels: memory behind the slice is not read.
func TestKeyStartsChangeDuringCall(t *testing.T) {
	const d, keys, beyond = 32, 50, 60
	for _, tier := range kernel.Tiers() {
		for _, queries := range []int{1, 100} {
			for _, dtype := range contracttest.KeyTypes() {
				starts := []int{0, keys / 2, keys}
				kv := changedKeys(dtype, (keys+beyond)*d, keys*d, starts, d)
				q, out := testutil.Floats(2*queries*d), make([]float32, 2*queries*d)
				x := func(s []float32) kernel.Tensor { return kernel.BHLD(s, 2, 1, queries, d) }
				value := func() (value any) {
					defer func() { value = recover() }()
					t.Log(kernel.Attention(x(out), x(q), kv, kv, &kernel.Options{
						Exec: kernel.Exec{Tier: tier, Threads: 1},
						Scoring: kernel.Scoring{Score: func(*kernel.ScoreTile) {
							for i := range starts {
								starts[i] = beyond + i
							}
						}},
					}))
					return nil
				}()
				if value == nil {
					t.Errorf("%s, %d queries, %v: the call did not panic", tier, queries, dtype)
				}
			}
		}
	}
}

// changedKeys returns a ragged tensor of the first visible elements of memory for n.
func changedKeys(dtype kernel.DType, n, visible int, starts []int, d int) kernel.Tensor {
	switch dtype {
	case kernel.Float16:
		return kernel.Ragged(make([]kernel.F16, n)[:visible:visible], starts, 1, d)
	case kernel.BFloat16:
		return kernel.Ragged(make([]kernel.BF16, n)[:visible:visible], starts, 1, d)
	case kernel.Float8E4M3:
		return kernel.Ragged(make([]kernel.F8E4M3, n)[:visible:visible], starts, 1, d)
	case kernel.Float8E5M2:
		return kernel.Ragged(make([]kernel.F8E5M2, n)[:visible:visible], starts, 1, d)
	case kernel.Int8:
		scales := kernel.BHLD(testutil.Filled(visible/d, 1), 1, 1, visible/d, 1)
		return kernel.BHLD(make([]int8, n)[:visible:visible], 1, 1, visible/d, d).Scaled(&scales).Ragged(starts)
	case kernel.Int4:
		scales := kernel.BHLD(testutil.Filled(visible/d, 1), 1, 1, visible/d, 1)
		return kernel.BHLD(make([]kernel.Int4x2, n/2)[:visible/2:visible/2], 1, 1, visible/d, d).Scaled(&scales).Ragged(starts)
	}
	return kernel.Ragged(make([]float32, n)[:visible:visible], starts, 1, d)
}

// TestScoreTileIsCopied: what a Score function does to the fields of its tile has no
// effect on later tiles and calls.
func TestScoreTileIsCopied(t *testing.T) {
	const d, n = 16, 40
	x := testutil.Floats(n * d)
	tensor := func(s []float32) kernel.Tensor { return kernel.BHLD(s, 1, 1, n, d) }
	mine := make([]kernel.ScoreRow, 64)
	for _, score := range []func(*kernel.ScoreTile){
		func(tile *kernel.ScoreTile) {
			if cap(tile.Scores) != tile.Keys*tile.Stride {
				t.Errorf("the scores have a capacity of %d for %d keys with stride %d", cap(tile.Scores), tile.Keys, tile.Stride)
			}
			tile.Rows, tile.Scores = mine, nil
		},
		func(*kernel.ScoreTile) {},
	} {
		out := make([]float32, n*d)
		if err := kernel.Attention(tensor(out), tensor(x), tensor(x), tensor(x), &kernel.Options{Scoring: kernel.Scoring{Score: score}}); err != nil {
			t.Fatal(err)
		}
	}
	for i, row := range mine {
		if row != (kernel.ScoreRow{}) {
			t.Fatalf("row %d of the caller's own slice was overwritten: %+v", i, row)
		}
	}
}

// TestPagedTwice: a view of pages, or a ragged one, is no memory of pages.
func TestPagedTwice(t *testing.T) {
	x := kernel.BHLD(make([]float32, 64), 2, 1, 4, 8)
	table := &kernel.PageTable{Pages: [][]int32{{0}}, Lengths: []int{4}}
	q, out := kernel.BHLD(make([]float32, 8), 1, 1, 1, 8), kernel.BHLD(make([]float32, 8), 1, 1, 1, 8)
	for _, keys := range []kernel.Tensor{x.Paged(table).Paged(table), kernel.Ragged(make([]float32, 64), []int{0, 4}, 1, 8).Paged(table)} {
		var wrong *kernel.Error
		if err := kernel.Attention(out, q, keys, keys, nil); !errors.As(err, &wrong) || wrong.Arg() != "k" {
			t.Errorf("Attention returned %v", err)
		}
	}
}
