package suite

import (
	"context"
	"fmt"
	"sync"

	"github.com/attn-go/attn/bench/internal/calls"
	"github.com/attn-go/attn/bench/internal/machine"
	"github.com/attn-go/attn/bench/internal/numbers"
	"github.com/attn-go/attn/bench/internal/results"
	"github.com/attn-go/attn/bench/internal/stats"
	"github.com/attn-go/attn/kernel"
)

// Decoding is measured with 32 query heads on 8 KV heads of size 128, as in shape C: each
// KV head is read once for 4 query heads.
const (
	decodeHeads = 8 // KV heads
	decodeSize  = 128
	decodeKeys  = 4096
)

// groupSizes are other numbers of query heads for each KV head than results.DecodeGroup: no groups,
// models such as Qwen 2 (7), and models with few KV heads or one, which are measured with float32
// alone.
var groupSizes = []int{1, 2, 7, 8, 16, 32, 71}

const smallGroups = 4 // of these

// groupsShape is the part of the suite with all groups.
const groupsShape = "groups"

// blockKeys is the number of keys in a block of the numeric contract.
const blockKeys = 256

// leastRead is the least number of floats that the bandwidth is measured with. If there
// are less, they are read several times.
const leastRead = 4 << 20

// A cacheLevel is where keys and values are read from. If they are to be read from memory, there
// are several sets of them, used in turn like a model's layers, which together are larger than all
// caches.
type cacheLevel struct {
	name        string
	heads, keys int
	float32Sets int
}

// sets returns the number of sets of a type. All types use as much memory in total.
func (l cacheLevel) sets(t *calls.Type) int {
	if l.float32Sets == 1 {
		return 1
	}
	return int(float64(l.float32Sets) * 4 / t.Bytes(decodeSize))
}

// mostOfL3 is the most of L3 that is measured, in bytes: of a large one, which has parts on many
// cores, a core reads a part about as fast as memory.
const mostOfL3 = 8 << 20

// cacheLevels returns keys and values that fill half of L2, a quarter of L3, which other
// programs may use as well, but at most mostOfL3, and several times L3, but at most 1 GB.
func cacheLevels() []cacheLevel {
	l2, l3 := machine.CacheSizes()
	keys := func(bytes, heads int) int {
		return max(blockKeys, bytes/(2*4*decodeSize*heads)/blockKeys*blockKeys)
	}
	set := 2 * 4 * decodeSize * decodeHeads * decodeKeys
	return []cacheLevel{
		{"L2", 1, keys(l2/2, 1), 1},
		{"L3", decodeHeads, keys(min(l3/4, mostOfL3), decodeHeads), 1},
		{"memory", decodeHeads, decodeKeys, machine.MemoryBytes()/set + 1},
	}
}

// decodeRows measure decoding: for each type, cache level and number of threads, then with other
// groups of query heads on one thread.
func decodeRows(c *Config, f *results.File) (rows []row) {
	for _, level := range cacheLevels() {
		for i := range calls.Types {
			if c.takes(true, level.name) {
				rows = append(rows, c.decoding(level, &calls.Types[i], []int{results.DecodeGroup}, c.Threads, f)...)
			}
		}
	}
	for _, level := range cacheLevels() {
		for i := range calls.Types {
			groups := groupSizes
			if i > 0 {
				groups = groupSizes[:smallGroups]
			}
			if c.takes(false, groupsShape) {
				rows = append(rows, c.decoding(level, &calls.Types[i], groups, []int{1}, f)...)
			}
		}
	}
	return rows
}

// decoding returns rows of one level and type for groups of several sizes.
func (c *Config) decoding(level cacheLevel, t *calls.Type, groups, numbersOfThreads []int, f *results.File) (rows []row) {
	probes, input := sync.OnceValue(machine.NewProbes), sync.OnceValue(func() *decodeInput { return newDecodeInput(level, t) })
	tiers := c.vectorTiers()
	if len(tiers) == 0 {
		tiers = c.Tiers
	}
	for _, group := range groups {
		for _, tier := range tiers {
			for _, threads := range numbersOfThreads {
				rows = append(rows, row{fmt.Sprintf("decode %s %s group=%d %s threads=%d", level.name, t.Name, group, tier, threads),
					appended(&f.Decode, func(ctx context.Context) (results.Decode, error) {
						return c.decodeRow(ctx, input(), group, kernel.Exec{Tier: tier, Threads: threads}, probes().For(tier))
					})})
			}
		}
	}
	return rows
}

// decodeInput has the keys and values of a level.
type decodeInput struct {
	level  cacheLevel
	kind   *calls.Type
	k, v   []kernel.Tensor
	bytes  float64   // of the keys and values of a call
	memory []float32 // of as much as all sets, to measure reading
	at     int
}

func newDecodeInput(l cacheLevel, t *calls.Type) *decodeInput {
	shape := [4]int{1, l.heads, l.keys, decodeSize}
	x := numbers.Huge(l.heads * l.keys * decodeSize)
	d := &decodeInput{level: l, kind: t, k: t.Sets(x, l.sets(t), shape), v: t.Sets(x, l.sets(t), shape), bytes: 2 * t.Bytes(decodeSize) * float64(len(x))}
	d.memory = numbers.Huge(int(d.bytes) * l.sets(t) / 4)
	return d
}

// read returns the GB/s of reading as much memory as a call does.
func (d *decodeInput) read(threads int) []float64 {
	part := max(int(d.bytes)/4, min(leastRead, len(d.memory)))
	if d.at+part > len(d.memory) {
		d.at = 0
	}
	reader := machine.NewReader(d.memory[d.at : d.at+part])
	d.at += part
	return []float64{reader.Rate(max(1, leastRead/part), threads)}
}

// decodeRow measures decoding, and right beside it reading as much memory and the FMA peak.
func (c *Config) decodeRow(ctx context.Context, d *decodeInput, group int, e kernel.Exec, probe *machine.Probe) (r results.Decode, err error) {
	call := calls.Attention(calls.Queries(d.level.heads*group, 1, decodeSize), d.k, d.v, d.kind.Scoring)
	limits := []func() []float64{func() []float64 { return d.read(e.Threads) }, func() []float64 { return probe.Sample(e.Threads) }}
	rates, times, err := c.measure(ctx, defaultTime, limits, func() error { return call(e) })
	if err != nil {
		return r, err
	}
	elements := 2 * float64(d.level.heads*d.level.keys*decodeSize)
	r = results.Decode{Level: d.level.name, KVHeads: d.level.heads, Keys: d.level.keys, Size: decodeSize, Group: group, Type: d.kind.Name,
		Tier: e.Tier.String(), Threads: e.Threads, Timing: results.NewTiming(times[0]), Bytes: d.bytes, Flops: 2 * float64(group) * elements,
		Read: stats.Median(rates[0]), ReadSpread: stats.Spread(rates[0]), PeakSpread: stats.Spread(rates[1])}
	r.GBs, r.Tokens = r.Bytes/r.Ns, 1e9/r.Ns
	r.ReadPercent, r.PeakPercent = 100*r.GBs/r.Read, 100*r.Flops/r.Ns/stats.Median(rates[1])
	return r, nil
}
