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

	// Scoring has Scale, Softcap, ALiBi, Sinks, QueryStart and a Mask that is a window, as [kernel.Mask.Window] tells:
	// [kernel.Causal] or [kernel.Window]. The other fields must not be set.
	//
	// QueryStart holds the position of the first query: one for all batch rows or one for
	// each. None means that the queries are those of the last keys: the position is the
	// sequence's length minus the number of queries.
	kernel.Scoring

	// LSE, if not the zero Tensor, receives the log-sum-exp of each row, [B, H, Lq, 1].
	LSE kernel.Tensor
}

// visible returns the keys lo to hi-1, of n, that queries from first to last may see under a window.
func visible(m *kernel.Mask, first, last, n int) (lo, hi int) {
	left, right, _ := m.Window()
	low, high := int64(0), int64(n)
	if left >= 0 {
		low = max(low, int64(first)-int64(min(left, math.MaxInt32)))
	}
	if right >= 0 {
		high = min(high, int64(last)+int64(min(right, math.MaxInt32))+1)
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
	Requests int   // messages to workers
	Retries  int   // of them, those to a replica because another worker failed or was late
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
	s.Requests += x.Requests
	s.Retries += x.Retries
	s.Sent += x.Sent
	s.Received += x.Received
}
