package kvcache_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/kvcache"
)

// A plain is a sequence as plain memory: of every layer, what the keys and values of each
// token should be. Tokens that have not been stored are undefined.
type plain struct {
	sequence *kvcache.Sequence
	tokens   [][]token // of every layer, from position 0 on
	start    int
	fresh    int
	forked   int // a fork has the tokens before this position: they must not be stored again
}

type token struct {
	isStored bool
	value    float32 // of the first number; the others count on
}

func (p *plain) length() int { return len(p.tokens[0]) }

// An ordered does things to a cache, in any order that its documentation allows, and
// compares all sequences with plain memory after each one.
type ordered struct {
	t         *testing.T
	config    kvcache.Config
	cache     *kvcache.Cache
	batch     *kvcache.Batch
	sequences []*plain
	random    testutil.Rand
	next      float32 // a value that no token has
	log       []string
	stores    int // of tokens some of which had been dropped
}

// TestOrder does what can be done to a cache in random orders, with pages of 1 to 5 tokens in
// both layouts, and with windows.
func TestOrder(t *testing.T) {
	steps := 1500
	if testutil.Thin() {
		steps = 250
	}
	dropped := 0
	for size := 1; size <= 5; size++ {
		for _, layout := range []kvcache.PageLayout{kvcache.LayoutHND, kvcache.LayoutNHD} {
			for _, window := range []int{0, 1, 6} {
				c := kvcache.Config{Layers: 2, Heads: 2, HeadSize: 3, ValueSize: 2, PageSize: size, Pages: 100 / size, Layout: layout, Window: window}
				cache, err := kvcache.New(c)
				if err != nil {
					t.Fatal(err)
				}
				batch, err := cache.NewBatch()
				if err != nil {
					t.Fatal(err)
				}
				o := &ordered{t: t, config: c, cache: cache, batch: batch, random: testutil.Rand(size*100 + window*10 + int(layout))}
				for range steps {
					o.step()
					o.compare()
				}
				dropped += o.stores
			}
		}
	}
	if dropped < 20 {
		t.Errorf("only %d times were tokens stored of which some had been dropped", dropped)
	}
}

// did remembers an operation for the message of a failure.
func (o *ordered) did(format string, args ...any) {
	o.log = append(o.log, fmt.Sprintf(format, args...))
	o.log = o.log[max(0, len(o.log)-12):]
}

func (o *ordered) fatalf(format string, args ...any) {
	o.t.Helper()
	o.t.Fatalf("%+v: %s; the last operations: %q", o.config, fmt.Sprintf(format, args...), o.log)
}

// must accepts only one kind of error: that there are too few pages.
func (o *ordered) must(err error) (full bool) {
	o.t.Helper()
	var capacity *kvcache.CapacityError
	if err != nil && !errors.As(err, &capacity) {
		o.fatalf("%v", err)
	}
	return err != nil
}

func (o *ordered) step() {
	if len(o.sequences) == 0 {
		o.begin()
		return
	}
	i := o.random.IntN(len(o.sequences))
	p := o.sequences[i]
	at := p.start + o.random.IntN(p.length()-p.start+1)
	switch o.random.IntN(12) {
	case 0:
		if len(o.sequences) < 6 {
			o.begin()
		}
	case 1, 2, 3:
		o.extend()
	case 4, 5, 6:
		o.store()
	case 7:
		o.did("drop(%d, %d)", i, at)
		o.must(p.sequence.DropBefore(at))
		p.start += (at - p.start) / o.config.PageSize * o.config.PageSize
	case 8, 9:
		o.truncate(i, o.allowed(p, at))
	case 10:
		if len(o.sequences) < 6 {
			o.fork(i, o.allowed(p, at))
		}
	case 11:
		o.did("free(%d)", i)
		p.sequence.Free()
		o.sequences = slices.Delete(o.sequences, i, i+1)
	}
}

// allowed returns the position itself, or the end if the window needs tokens that have been
// dropped.
func (o *ordered) allowed(p *plain, at int) int {
	if p.start > 0 && at < p.start+o.config.Window {
		return p.length()
	}
	return at
}

func (o *ordered) begin() {
	o.did("begin")
	o.sequences = append(o.sequences, &plain{sequence: o.cache.NewSequence(), tokens: make([][]token, o.config.Layers)})
}

func (o *ordered) truncate(i, at int) {
	o.did("truncate(%d, %d)", i, at)
	p := o.sequences[i]
	o.must(p.sequence.Truncate(at))
	if at == p.length() {
		return
	}
	for layer := range p.tokens {
		p.tokens[layer] = p.tokens[layer][:at]
	}
	p.fresh, p.forked = 0, min(p.forked, at)
}

func (o *ordered) fork(i, at int) {
	o.did("fork(%d, %d)", i, at)
	p := o.sequences[i]
	s, err := p.sequence.Fork(at)
	o.must(err)
	f := &plain{sequence: s, start: p.start}
	for _, tokens := range p.tokens {
		f.tokens = append(f.tokens, slices.Clone(tokens[:at]))
	}
	p.forked = max(p.forked, at)
	o.sequences = append(o.sequences, f)
}

// choose makes a batch of some sequences, in any order.
func (o *ordered) choose(fits func(p *plain) bool) (chosen []*plain) {
	x := o.random.Uint64()
	for i, p := range o.sequences {
		if x>>i&1 != 0 && fits(p) {
			chosen = slices.Insert(chosen, o.random.IntN(len(chosen)+1), p)
		}
	}
	var list []*kvcache.Sequence
	for _, p := range chosen {
		list = append(list, p.sequence)
	}
	o.must(o.batch.Set(list...))
	return chosen
}

func (o *ordered) extend() {
	chosen := o.choose(func(*plain) bool { return true })
	counts := make([]int, len(chosen))
	for i := range counts {
		counts[i] = o.random.IntN(9)
	}
	if len(counts) == 0 {
		counts = []int{1}
	}
	o.did("extend(%v)", counts)
	full := o.must(o.batch.Extend(counts...))
	if full {
		return
	}
	for i, p := range chosen {
		if w := o.config.Window; w > 0 { // what no later query sees goes
			p.start += max(0, p.length()-w-p.start) / o.config.PageSize * o.config.PageSize
		}
		for layer := range p.tokens {
			p.tokens[layer] = append(p.tokens[layer], make([]token, counts[i])...)
		}
		p.fresh = counts[i]
	}
}

// store stores the new tokens of some sequences, in one layer or in all.
func (o *ordered) store() {
	chosen := o.choose(func(p *plain) bool { return p.length()-p.fresh >= p.forked })
	n := 0
	for _, p := range chosen {
		n = max(n, p.fresh)
	}
	layer, last := 0, o.config.Layers-1
	if o.random.IntN(3) == 0 {
		layer = o.random.IntN(o.config.Layers)
		last = layer
	}
	for ; layer <= last; layer++ {
		c := &o.config
		k := kernel.BHLD(make([]float32, len(chosen)*c.Heads*n*c.HeadSize), len(chosen), c.Heads, n, c.HeadSize)
		v := kernel.BLHD(make([]float32, len(chosen)*c.Heads*n*c.ValueSize), len(chosen), n, c.Heads, c.ValueSize)
		for i, p := range chosen {
			for l := range p.fresh {
				t := token{true, o.next}
				o.next += float32(c.Heads * (c.HeadSize + c.ValueSize))
				p.tokens[layer][p.length()-p.fresh+l] = t
				for h := range c.Heads {
					o.fill(t, h, contracttest.Row(&k, i, h, l), contracttest.Row(&v, i, h, l))
				}
			}
			if p.length()-p.fresh < p.start {
				o.stores++
			}
		}
		if o.next > 1<<23 { // values stay distinct integers
			o.next = 0
		}
		o.did("store(%d) of %d sequences", layer, len(chosen))
		o.must(o.batch.Store(layer, k, v))
	}
}

// fill writes the key and the value of a token in a head.
func (o *ordered) fill(t token, head int, k, v []float32) {
	x := t.value + float32(head*(len(k)+len(v)))
	for _, row := range [...][]float32{k, v} {
		for i := range row {
			row[i] = x
			x++
		}
	}
}

// compare compares all sequences with plain memory.
func (o *ordered) compare() {
	var list []*kvcache.Sequence
	used := map[int32]bool{}
	for i, p := range o.sequences {
		list = append(list, p.sequence)
		if s := p.sequence; s.Len() != p.length() || s.Start() != p.start {
			o.fatalf("sequence %d has tokens %d to %d, want %d to %d", i, s.Start(), s.Len(), p.start, p.length())
		}
		for _, page := range p.sequence.Pages() {
			used[page] = true
		}
	}
	if got, want := o.cache.FreePages(), o.config.Pages-len(used); got != want {
		o.fatalf("%d pages are free, want %d", got, want)
	}
	o.must(o.batch.Set(list...))
	wantK, wantV := make([]float32, o.config.HeadSize), make([]float32, o.config.ValueSize)
	for layer := range o.config.Layers {
		k, v := o.batch.View(layer)
		for i, p := range o.sequences {
			for l := p.start; l < p.length(); l++ {
				t := p.tokens[layer][l]
				for h := 0; h < o.config.Heads && t.isStored; h++ {
					o.fill(t, h, wantK, wantV)
					gotK, gotV := contracttest.Row(&k, i, h, l-p.start), contracttest.Row(&v, i, h, l-p.start)
					if !slices.Equal(gotK, wantK) || !slices.Equal(gotV, wantV) {
						o.fatalf("layer %d, sequence %d, token %d, head %d: %v and %v, want %v and %v", layer, i, l, h, gotK, gotV, wantK, wantV)
					}
				}
			}
		}
	}
}
