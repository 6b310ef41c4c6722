package main

import (
	"context"
	"fmt"
	"io"
	"runtime"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/numeric"
)

// unevenLengths are in proportion to the lengths of a batch's sequences.
var unevenLengths = []int{3000, 10, 200, 6000, 50, 800, 12000, 400, 1, 2500, 77, 1500}

// unevenHeads is the number of key heads of such a batch.
const unevenHeads = 2

// reportUneven prints what several threads gain on batches of sequences of very different
// lengths: in L3, which shows how well the work is shared, and from memory, which has its
// own limit, printed beside.
func reportUneven(ctx context.Context, c *config, out io.Writer) error {
	threads := runtime.GOMAXPROCS(0)
	if threads == 1 {
		return nil
	}
	fmt.Fprintf(out, "\nBatches of %d sequences, ragged, with lengths in proportion to %v,\n", len(unevenLengths), unevenLengths)
	fmt.Fprintf(out, "%d query heads on %d: the time on one thread, and how many times faster it is on %d:\n", unevenHeads*decodeGroup, unevenHeads, threads)
	fmt.Fprintf(out, "in calls that follow each other; beside that, how many times faster so many threads read as much memory.\n\n")
	rows := []string{fmt.Sprintf("cache\t    MB\ttype\ttier\tone thread\ton %d\treading", threads)}
	_, l3 := cacheSizes()
	for _, p := range []struct {
		name  string
		bytes int
	}{{"L3", l3 / 4}, {"DRAM", min(max(4*l3, 256<<20), 1<<30)}} {
		read := reader{read: widestRead(), data: cheapNumbers(p.bytes / 4)}
		gain := read.gain(threads)
		for _, t := range unevenTypes {
			d := newUneven(p.bytes, t)
			for _, tier := range c.decodeTiers() {
				if ctx.Err() != nil {
					return interrupted(ctx)
				}
				one, own, err := d.gain(tier, threads)
				if err != nil {
					return err
				}
				rows = append(rows, fmt.Sprintf("%s\t%6.1f\t%s\t%s\t%10s\t%6.2f×\t%6.2f×", p.name, float64(p.bytes)/1e6, t.name, tier, duration(1e9*one), own, gain))
			}
		}
	}
	table(out, rows...)
	return nil
}

// An unevenType is an element type of such a batch.
type unevenType struct {
	name   string
	bytes  int // of an element
	ragged func(x []float32, starts []int) kernel.Tensor
}

// unevenTypes are one that is limited by reading and one that is limited by arithmetic.
var unevenTypes = []unevenType{
	{"float32", 4, func(x []float32, starts []int) kernel.Tensor {
		return kernel.Ragged(x, starts, unevenHeads, decodeSize)
	}},
	{"float16", 2, func(x []float32, starts []int) kernel.Tensor {
		return kernel.Ragged(converted(x, numeric.ToF16), starts, unevenHeads, decodeSize)
	}},
}

// newUneven makes a batch whose keys and values take so many bytes.
func newUneven(bytes int, t unevenType) *decoder {
	sum := 0
	for _, n := range unevenLengths {
		sum += n
	}
	starts, tokens := []int{0}, float64(bytes/(2*t.bytes*unevenHeads*decodeSize))
	for _, n := range unevenLengths {
		starts = append(starts, starts[len(starts)-1]+max(1, int(tokens*float64(n)/float64(sum))))
	}
	batch, heads := len(unevenLengths), unevenHeads*decodeGroup
	numbers := func() []float32 { return cheapNumbers(starts[batch] * unevenHeads * decodeSize) }
	return &decoder{
		q:   kernel.BHLD(normals(batch*heads*decodeSize), batch, heads, 1, decodeSize),
		out: kernel.BHLD(make([]float32, batch*heads*decodeSize), batch, heads, 1, decodeSize),
		k:   []kernel.Tensor{t.ragged(numbers(), starts)},
		v:   []kernel.Tensor{t.ragged(numbers(), starts)},
	}
}

// gain returns the time of a call on one thread, and how many times faster it is on several.
func (d *decoder) gain(tier string, threads int) (one, gain float64, err error) {
	d.opts = kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: 1}}
	together := *d
	together.opts.Threads = threads
	one, x, err := d.compare(&together)
	return one, one / x, err
}

// gain returns how many times faster so many threads read than one.
func (r *reader) gain(threads int) float64 {
	var rates [2][]float64
	for range 9 {
		for i, n := range []int{1, threads} {
			rates[i] = append(rates[i], r.passes(1+4*leastRead/len(r.data), n))
		}
	}
	return median(rates[1]) / median(rates[0])
}
