package shard

import (
	"math"
	"time"

	"github.com/attn-go/attn/kernel"
)

// Options are the settings of one call, as in kernel.Options. The zero value is plain
// attention over all keys.
type Options struct {
	// Exec says how this program merges. The workers have their own.
	kernel.Exec

	Scale   float32 // 0 means 1/√D, and -0 is 0
	Softcap float32 // 0 means none
	Mask    Mask
	ALiBi   []float32 // none, or one for each query head
	Sinks   []float32 // none, or one for each query head

	// QueryStart holds the position of the first query: one for all batch rows or one for
	// each. None means that the queries are those of the last keys: the position is the
	// sequence's length minus the number of queries.
	QueryStart []int

	// LSE, if not the zero Tensor, receives the log-sum-exp of each row, [B, H, Lq, 1].
	LSE kernel.Tensor
}

// Mask tells which keys a query may see, by their positions. The zero Mask hides none.
type Mask struct {
	set         bool
	left, right int
}

// Causal lets a query see the keys up to its own position.
func Causal() Mask { return Window(-1, 0) }

// Window lets a query at position p see the keys p-left to p+right; -1 means no limit.
func Window(left, right int) Mask {
	const all = math.MaxInt32 // reaches from any position to any other
	return Mask{true, min(left, all), min(right, all)}
}

// kernel returns the mask of a call in one process.
func (m Mask) kernel() kernel.Mask {
	if !m.set {
		return kernel.Mask{}
	}
	return kernel.Window(m.left, m.right)
}

// span returns the keys lo to hi-1, of n, that queries from first to last may see.
func (m Mask) span(first, last, n int) (lo, hi int) {
	low, high := int64(0), int64(n)
	if m.set && m.left >= 0 {
		low = max(low, int64(first)-int64(m.left))
	}
	if m.set && m.right >= 0 {
		high = min(high, int64(last)+int64(m.right)+1)
	}
	return int(min(low, int64(n))), int(max(high, 0))
}

// Stats is what a call took.
type Stats struct {
	Wall  time.Duration // of the whole call
	Merge time.Duration // of merging, a part of Wall

	// Compute is the time that workers spent on the arithmetic of the answers that were used,
	// Slowest the sum of the one that spent most.
	Compute, Slowest time.Duration

	Blocks   int   // of 256 keys that were asked for, all batch rows together
	Chained  int   // of them, those whose partials workers have merged, see Config.Run
	Requests int   // messages to workers
	Retries  int   // of them, those to a replica because another worker failed or was late, and chains that failed
	Sent     int64 // bytes of the messages' contents
	Received int64
}

// Add adds the numbers of another call; Slowest is then the sum of both.
func (s *Stats) Add(x Stats) {
	s.Wall += x.Wall
	s.Merge += x.Merge
	s.Compute += x.Compute
	s.Slowest += x.Slowest
	s.Blocks += x.Blocks
	s.Chained += x.Chained
	s.Requests += x.Requests
	s.Retries += x.Retries
	s.Sent += x.Sent
	s.Received += x.Received
}
