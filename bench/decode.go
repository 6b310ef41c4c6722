package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/attn-go/attn/internal/hugepages"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/numeric"
	"github.com/klauspost/cpuid/v2"
)

// Decoding is measured at a layer of 32 query heads on 8 key heads of size 128, as
// shape C: groups of 4 queries share the keys and values that have to be read.
const (
	decodeGroup = 4
	decodeHeads = 8
	decodeSize  = 128
	decodeKeys  = 4096
)

// A decodePlace is a cache size: keys and values that stay in a level of the
// hierarchy, or more than fit in any.
type decodePlace struct {
	name        string
	heads, keys int
	sets        int // of float32 that are read one after the other, as a model's layers are
}

// setsOf is how many sets of a type fill the place.
func (p decodePlace) setsOf(t decodeType) int {
	if p.sets == 1 {
		return 1
	}
	return int(float64(p.sets) * 4 / t.bytes)
}

// decodePlaces fills half of L2, a quarter of L3, which others may share, and several
// times L3, at most 1 GB.
func decodePlaces() []decodePlace {
	l2, l3 := cacheSizes()
	keys := func(bytes, heads int) int {
		return max(kernelBlock, bytes/(2*4*decodeSize*heads)/kernelBlock*kernelBlock)
	}
	set := 2 * 4 * decodeSize * decodeHeads * decodeKeys
	return []decodePlace{
		{"L2", 1, keys(l2/2, 1), 1},
		{"L3", decodeHeads, keys(l3/4, decodeHeads), 1},
		{"DRAM", decodeHeads, decodeKeys, min(max(4*l3, 256<<20), 1<<30)/set + 1},
	}
}

// cacheSizes are those of one core's second level and of the third, in bytes, or
// usual ones where the CPU does not tell.
func cacheSizes() (l2, l3 int) {
	l2, l3 = cpuid.CPU.Cache.L2, cpuid.CPU.Cache.L3
	if l2 <= 0 {
		l2 = 1 << 20
	}
	if l3 <= l2 {
		l3 = 32 << 20
	}
	return l2, l3
}

// kernelBlock is the number of keys in a block of the contract.
const kernelBlock = 256

// A decodeType is an element type of keys and values.
type decodeType struct {
	name  string
	bytes float64 // of an element, with its share of a scale
	make  func(numbers []float32, sets, heads, keys int) []kernel.Tensor
}

var decodeTypes = []decodeType{
	{"float32", 4, func(x []float32, sets, heads, keys int) []kernel.Tensor { return repeatSets(x, sets, heads, keys) }},
	{"float16", 2, func(x []float32, sets, heads, keys int) []kernel.Tensor {
		return repeatSets(converted(x, numeric.ToF16), sets, heads, keys)
	}},
	{"bfloat16", 2, func(x []float32, sets, heads, keys int) []kernel.Tensor {
		return repeatSets(converted(x, numeric.ToBF16), sets, heads, keys)
	}},
	{"int8", 1 + 4.0/decodeSize, int8Sets},
}

// converted are numbers of another type, in huge pages too.
func converted[E any](x []float32, convert func(float32) E) []E {
	y := hugepages.Make[E](len(x))
	for i := range x {
		y[i] = convert(x[i])
	}
	return y
}

// repeatSets makes so many tensors of the numbers of one, each with its own memory.
func repeatSets[E kernel.Element](x []E, sets, heads, keys int) []kernel.Tensor {
	ts := make([]kernel.Tensor, sets)
	all := hugepages.Make[E](sets * len(x))
	for i := range ts {
		own := all[i*len(x) : (i+1)*len(x)]
		copy(own, x)
		ts[i] = kernel.BHLD(own, 1, heads, keys, decodeSize)
	}
	return ts
}

// int8Sets quantises with a scale for each row.
func int8Sets(x []float32, sets, heads, keys int) []kernel.Tensor {
	q, scales := make([]int8, len(x)), make([]float32, len(x)/decodeSize)
	if err := numeric.QuantizeInt8(q, scales, x, decodeSize); err != nil {
		panic(err) // the numbers are finite
	}
	ts := repeatSets(q, sets, heads, keys)
	for i := range ts {
		s := kernel.BHLD(slices.Clone(scales), 1, heads, keys, 1)
		ts[i] = ts[i].Scaled(&s)
	}
	return ts
}

// cheapNumbers are numbers that take no time to make, in huge pages like those of a
// kernel.Cache.
func cheapNumbers(n int) []float32 {
	x := hugepages.Make[float32](n)
	few := normals(min(n, 1<<16+1))
	for at := 0; at < n; {
		at += copy(x[at:], few)
	}
	return x
}

// leastRead is the number of floats that the bandwidth is measured with at least, in
// several passes if there are not as many.
const leastRead = 4 << 20

// decodeTime is how long each figure is measured.
const decodeTime = 250 * time.Millisecond

// reportDecode prints the speed of decoding: for every type, cache size and number
// of threads, then with more queries, then for batches of uneven lengths.
func reportDecode(ctx context.Context, c *config, out io.Writer) error {
	fmt.Fprintf(out, "\nDecoding: %d query heads on %d, head size %d, one query each (in L2 one key head). GB/s of keys and\n", decodeGroup*decodeHeads, decodeHeads, decodeSize)
	fmt.Fprintf(out, "values, beside what the same threads read of as much memory right before, and the share of the peak\nof their FMAs, which limits what is not limited by reading. Medians.\n\n")
	rows := []string{"cache\tkeys\ttype\ttier\tthreads\t    time\t  GB/s\t  read\t% of read\t% of FMA\ttokens/s"}
	for _, place := range decodePlaces() {
		for _, t := range decodeTypes {
			more, err := decodeRows(ctx, c, place, t)
			if err != nil {
				return err
			}
			rows = append(rows, more...)
		}
	}
	table(out, rows...)
	fmt.Fprintln(out, "\ntokens/s: of one such layer.")
	if err := reportQueries(ctx, c, out); err != nil {
		return err
	}
	return reportUneven(ctx, c, out)
}

// decodeTiers are the tiers asked for, generic only by name.
func (c *config) decodeTiers() []string {
	var tiers []string
	for _, t := range c.tiers {
		if t != reference || c.tiersAsked || len(c.tiers) == 1 {
			tiers = append(tiers, t)
		}
	}
	return tiers
}

// A decoder makes calls of one query, or a few, on one set of keys and values after
// the other.
type decoder struct {
	q, out kernel.Tensor
	k, v   []kernel.Tensor
	opts   kernel.Options
	next   int
}

// newDecoder makes keys and values, and one query.
func newDecoder(p decodePlace, t decodeType) *decoder {
	x := cheapNumbers(p.heads * p.keys * decodeSize)
	d := &decoder{
		k: t.make(x, p.setsOf(t), p.heads, p.keys),
		v: t.make(x, p.setsOf(t), p.heads, p.keys),
	}
	d.ask(p, 1)
	return d
}

// ask makes so many queries the next ones.
func (d *decoder) ask(p decodePlace, queries int) {
	heads := p.heads * decodeGroup
	n := heads * queries * decodeSize
	d.q = kernel.BHLD(normals(n), 1, heads, queries, decodeSize)
	d.out = kernel.BHLD(make([]float32, n), 1, heads, queries, decodeSize)
}

func (d *decoder) call() error {
	d.next = (d.next + 1) % len(d.k)
	return kernel.Attention(d.out, d.q, d.k[d.next], d.v[d.next], d.opts)
}

// seconds returns the time of a call, of as many as take a moment, after one that wakes the
// threads: calls of decoding follow each other.
func (d *decoder) seconds() (float64, error) {
	if err := d.call(); err != nil {
		return 0, err
	}
	start, n := time.Now(), 0
	for n == 0 || time.Since(start) < time.Millisecond {
		if err := d.call(); err != nil {
			return 0, err
		}
		n++
	}
	return time.Since(start).Seconds() / float64(n), nil
}

func decodeRows(ctx context.Context, c *config, p decodePlace, t decodeType) ([]string, error) {
	d := newDecoder(p, t)
	numbers := 2 * float64(p.heads*p.keys*decodeSize)
	bytes := t.bytes * numbers
	sets := p.setsOf(t)
	memory := cheapNumbers(int(bytes) * sets / 4) // in pages like those of k and v
	part := max(int(bytes)/4, min(leastRead, len(memory)))
	read := reader{read: widestRead()}
	probes := newProbes()
	var rows []string
	for _, tier := range c.decodeTiers() {
		for _, threads := range c.threads {
			d.opts = kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: threads}}
			var times, reads, peaks []float64
			at := 0
			for start := time.Now(); len(times) < 5 || time.Since(start) < decodeTime; {
				if ctx.Err() != nil {
					return nil, interrupted(ctx)
				}
				read.data = memory[at : at+part]
				reads = append(reads, read.passes(max(1, leastRead/part), threads))
				peaks = append(peaks, median(probes.of(tier).sample()))
				if at += part; at+part > len(memory) {
					at = 0
				}
				x, err := d.seconds()
				if err != nil {
					return nil, err
				}
				times = append(times, x)
			}
			x, limit := median(times[1:]), median(reads[1:])
			rate, peak := bytes/x/1e9, median(peaks[1:])*float64(threads)
			flops := 2 * decodeGroup * numbers / x / 1e9
			rows = append(rows, fmt.Sprintf("%s\t%d × %d\t%s\t%s\t%7d\t%8s\t%6.1f\t%6.1f\t%8.0f%%\t%7.0f%%\t%8.0f", p.name, p.heads, p.keys, t.name, tier, threads,
				duration(1e9*x), rate, limit, 100*rate/limit, 100*flops/peak, 1/x))
		}
	}
	return rows, nil
}

// decodeQueries are numbers of queries, as speculative decoding has them, around
// those where the kernels change.
var decodeQueries = []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16}

// reportQueries prints the time of a token when several are decoded at once.
func reportQueries(ctx context.Context, c *config, out io.Writer) error {
	p := decodePlaces()[1]
	fmt.Fprintf(out, "\nSeveral queries at once, float32 in L3, %d keys, one thread: the time of one\n\n", p.keys)
	header := "queries\trows that share keys"
	rows := make([]string, len(decodeQueries))
	for i, n := range decodeQueries {
		rows[i] = fmt.Sprintf("%7d\t%20d", n, n*decodeGroup)
	}
	single := newDecoder(p, decodeTypes[0])
	for _, tier := range c.decodeTiers() {
		header += fmt.Sprintf("\t%8s\tof 1", tier)
		for i, n := range decodeQueries {
			if ctx.Err() != nil {
				return interrupted(ctx)
			}
			single.opts = kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: 1}}
			several := *single
			several.ask(p, n)
			one, x, err := single.compare(&several)
			if err != nil {
				return err
			}
			x /= float64(n)
			rows[i] += fmt.Sprintf("\t%8s\t%3.0f%%", duration(1e9*x), 100*x/one)
		}
	}
	table(out, append([]string{header}, rows...)...)
	return nil
}

// compare returns the median times of d's calls and of other's, which take turns, as machines
// have moods.
func (d *decoder) compare(other *decoder) (mine, theirs float64, err error) {
	var times [2][]float64
	for start := time.Now(); len(times[0]) < 5 || time.Since(start) < 2*decodeTime; {
		for i, d := range []*decoder{d, other} {
			x, err := d.seconds()
			if err != nil {
				return 0, 0, err
			}
			times[i] = append(times[i], x)
		}
	}
	return median(times[0][1:]), median(times[1][1:]), nil
}
