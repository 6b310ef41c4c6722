// Package loss has the loss of language models, [CrossEntropy], with its gradient:
//
//	mean, err := loss.CrossEntropy(dlogits, logits, vocabulary, targets, kernel.Exec{})
//
// As everywhere in this module, a result has the same bits on every CPU and with any number of
// threads. The numeric contract, package contract, defines them.
package loss

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/elementwise"
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/rows"
	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/numeric"
)

// IgnoreIndex is the target of a row that does not count.
const IgnoreIndex = -1

// CrossEntropy returns the mean over all rows of
//
//	-log(exp(logits[t]) / (exp(logits[0]) + ... + exp(logits[n-1]))), t the target of the row
//
// and writes its gradient with respect to the logits:
//
//	dlogits[j] = (softmax(logits)[j] - (1 if j is t, else 0)) / rows
//
//	logits  rows of n logits, one after another
//	dlogits as long, overwritten; it may be logits, or nil if no gradient is wanted
//	targets one for each row, 0 to n-1, or [IgnoreIndex] for a row that does not count: it is
//	        no part of the mean, and its gradient is 0
//
// The largest logit of a row is subtracted first, so that no exponential overflows. A row that
// holds a NaN or +Inf, or nothing but -Inf, has a gradient and a loss of NaN, 0x7FC00000. The
// loss of a target whose logit is -Inf is +Inf. Without any row that counts the loss is 0.
//
// exec says how the call is computed; the zero Exec is the default. In the steady state a call
// allocates nothing. An error is a [*kernel.Error], and leaves dlogits untouched.
func CrossEntropy(dlogits, logits []float32, n int, targets []int32, exec kernel.Exec) (float32, error) {
	t, err := elementwise.Begin("loss.CrossEntropy", &exec, checkCrossEntropy(dlogits, logits, n, targets))
	if err != nil {
		return 0, err
	}
	if view.Races {
		view.Announce(view.Read, logits)
		view.Announce(view.Write, dlogits)
		view.Announce(view.Read, targets)
	}
	j := jobs.Get()
	j.tier, j.dlogits, j.logits, j.n, j.targets = t, dlogits, logits, n, targets
	mean := j.run(&exec)
	j.dlogits, j.logits, j.targets = nil, nil, nil // the caller's memory
	jobs.Put(j)
	return mean, nil
}

// checkCrossEntropy reports the first argument that does not fit.
func checkCrossEntropy(dlogits, logits []float32, n int, targets []int32) *check.Failure {
	if n < 1 || len(logits)%n != 0 {
		return &check.Failure{Where: "n", Got: fmt.Sprint(n), Want: fmt.Sprintf("the length of a row, which divides the length of logits, %d", len(logits))}
	}
	if f := check.Length("targets", len(targets), len(logits)/n, "one for each row of logits"); f != nil {
		return f
	}
	for i, t := range targets {
		if t != IgnoreIndex && (t < 0 || int(t) >= n) {
			return &check.Failure{Where: fmt.Sprintf("targets[%d]", i), Got: fmt.Sprint(t), Want: fmt.Sprintf("0 to %d, or IgnoreIndex", n-1)}
		}
	}
	d, l := view.MemoryOf(dlogits), view.MemoryOf(logits)
	if d != l && d.Overlaps(l) {
		return &check.Failure{Where: "dlogits", Got: "memory that overlaps a part of logits", Want: "logits itself, or memory of its own"}
	}
	return cmp.Or(
		check.LengthOrNil("dlogits", dlogits, len(logits), "as logits has them"),
		view.CheckApart(1, []string{"dlogits", "targets"}, d, view.MemoryOf(targets)),
	)
}

// A job is one call. Jobs are recycled with their memory, so that in the steady state a call
// allocates nothing.
type job struct {
	tier            *tier.Tier
	dlogits, logits []float32
	n               int
	targets         []int32
	share           float32 // of a row in the mean

	split       parallel.Split[chunk, struct{}]
	losses      []float32 // of the rows
	lossesUsage parallel.Usage
	memory      parallel.Memory
}

// elementFMAs is how many FMAs of a product take as long as one logit.
const elementFMAs = 40

var jobs = parallel.FreeList[job]{
	New: func() *job {
		j := new(job)
		j.split.Init(&chunks, nil, j.rows, j.memory.Forget)
		return j
	},
	Memory: func(j *job) *parallel.Memory { return &j.memory },
}

var chunks = parallel.FreeList[chunk]{}

// run computes the gradients and returns the mean.
func (j *job) run(exec *kernel.Exec) float32 {
	rows, counted := len(j.targets), 0
	for _, t := range j.targets {
		if t != IgnoreIndex {
			counted++
		}
	}
	j.share = 1 / float32(max(counted, 1))
	parallel.Fit(&j.memory, &j.lossesUsage, &j.losses, rows, parallel.Make[float32])
	work := float64(len(j.logits)) * elementFMAs / float64(j.tier.ThreadFMAs)
	j.split.Run(rows, work, struct{}{}, exec.Threads, exec.ParallelFor)
	sum := 0.0
	for _, l := range j.losses[:rows] {
		sum += float64(l)
	}
	if sum != sum {
		return scalar.NaN
	}
	return float32(sum / float64(max(counted, 1)))
}

// rows computes the rows lo to hi-1.
func (j *job) rows(s *chunk, lo, hi int) {
	for r := lo; r < hi; r++ {
		x, d := j.logits[r*j.n:][:j.n], []float32(nil)
		if j.dlogits != nil {
			d = j.dlogits[r*j.n:][:j.n]
		}
		t := int(j.targets[r])
		if t < 0 || t >= j.n { // Ignore; targets may have changed since they were checked
			j.losses[r] = 0
			clear(d)
			continue
		}
		j.losses[r] = s.row(j, d, x, t)
	}
}

// A chunk is memory for some logits of a row.
type chunk struct {
	p    [chunkLogits]float32
	tops [chunkLogits / chains]float32
	acc  [chains]float32
}

const (
	// chains is the number of chains in which the exponentials of a row are summed up.
	chains = 64

	// chunkLogits is the number of logits that are computed at a time: they stay in L1, and
	// a call of a kernel is short.
	chunkLogits = 1024
)

// row computes the gradient d of a row of logits x, unless d is nil, and returns its loss.
// d may be x.
func (s *chunk) row(j *job, d, x []float32, target int) float32 {
	top, at := rows.Largest(j.tier, x, s.tops[:]), x[target]
	rows.Fill(s.tops[:], top)
	clear(s.acc[:])
	for lo := 0; lo < len(x); lo += chunkLogits {
		hi := min(lo+chunkLogits, len(x))
		p := s.p[:hi-lo]
		if d != nil {
			p = d[lo:hi]
		}
		s.exponentials(j.tier, p, x[lo:hi])
	}
	sum := rows.SumOfHalves(j.tier, s.acc[:chainsOf(len(x))])
	if sum != sum {
		rows.Fill(d, scalar.NaN)
		return scalar.NaN
	}
	if d != nil {
		s.gradient(j, d, 1/sum, target)
	}
	return (top - at) + float32(numeric.Log2(sum)*math.Ln2)
}

// chainsOf returns how many of the chains, a power of two, are not +0 for all rows of n logits.
func chainsOf(n int) int { return 1 << bits.Len(uint(min(n, chains)-1)) }

// exponentials sets p to exp(x - top) and adds them to the chains. To the kernels, they are rows of
// a number for each chain.
func (s *chunk) exponentials(t *tier.Tier, p, x []float32) {
	for len(p) > 0 {
		w := min(len(p), chains)
		n := len(p) / w
		t.Rows().Powers(p, x, w, n, w, s.tops[:n])
		t.Elementwise().AddRows(s.acc[:w], p, w, n)
		p, x = p[n*w:], x[n*w:]
	}
}

// gradient makes the gradient of a row of its exponentials d.
func (s *chunk) gradient(j *job, d []float32, inv float32, target int) {
	at := (float32(d[target]*inv) - 1) * j.share
	for p := d; len(p) > 0; {
		n := min(len(p), chunkLogits)
		j.tier.Elementwise().Scale(p[:n], p, inv, j.share)
		p = p[n:]
	}
	d[target] = at
}
