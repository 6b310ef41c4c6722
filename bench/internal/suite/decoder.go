package suite

import (
	"context"
	"time"

	"github.com/attn-go/attn/bench/internal/numbers"
	"github.com/attn-go/attn/bench/internal/stats"
	"github.com/attn-go/attn/kernel"
)

// decodeTime is how long each figure is measured.
var decodeTime = 250 * time.Millisecond

// A stepDecoder makes calls with one query per head, or a few, each with the next set of keys
// and values.
type stepDecoder struct {
	level   cacheLevel
	element elementType
	group   int // query heads for each KV head

	q, out kernel.Tensor
	k, v   []kernel.Tensor
	opts   kernel.Options
	next   int
	memory []float32 // of as much as all sets, to measure reading; nil before it is needed
}

// newDecoder makes the keys and values of a level, and one query per head.
func newDecoder(l cacheLevel, t elementType, group int) *stepDecoder {
	x := numbers.Huge(l.heads * l.keys * decodeSize)
	d := &stepDecoder{
		level: l, element: t, group: group,
		k: t.make(x, l.sets(t), l.heads, l.keys),
		v: t.make(x, l.sets(t), l.heads, l.keys),
	}
	d.setQueries(1)
	return d
}

// setQueries makes so many queries per head for the next calls.
func (d *stepDecoder) setQueries(queries int) {
	heads := d.level.heads * d.group
	n := heads * queries * decodeSize
	d.q = kernel.BHLD(numbers.Normals(n), 1, heads, queries, decodeSize)
	d.out = kernel.BHLD(make([]float32, n), 1, heads, queries, decodeSize)
}

func (d *stepDecoder) call() error {
	d.next = (d.next + 1) % len(d.k)
	return kernel.Attention(d.out, d.q, d.k[d.next], d.v[d.next], &d.opts)
}

// seconds returns the time of a call, averaged over a millisecond. A first call, which is
// not counted, wakes the threads: when a model decodes, calls follow each other.
func (d *stepDecoder) seconds() (float64, error) {
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

// compare returns the median times of calls of d and of other. They alternate, as the speed
// of a shared machine varies.
func (d *stepDecoder) compare(ctx context.Context, c *Config, other *stepDecoder) (own, others float64, err error) {
	var times [2][]float64
	for start := time.Now(); len(times[0]) < minRounds || time.Since(start) < c.time(2*decodeTime); {
		if ctx.Err() != nil {
			return 0, 0, ctx.Err()
		}
		for i, d := range []*stepDecoder{d, other} {
			x, err := d.seconds()
			if err != nil {
				return 0, 0, err
			}
			times[i] = append(times[i], x)
		}
	}
	return stats.Median(times[0][1:]), stats.Median(times[1][1:]), nil
}
