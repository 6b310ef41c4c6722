// Package loss has what a model is trained to minimise: [CrossEntropy], with its gradient.
//
// Like all of this module, a result has the same bits on every CPU and with any number of
// threads. The numeric contract, package contract, defines them.
package loss

import (
	"fmt"
	"math"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/elementwise"
	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
)

// Ignore is the target of a row that does not count.
const Ignore = -1

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
//	targets one for each row, 0 to n-1, or [Ignore] for a row that does not count: it is no part
//	        of the mean, and its gradient is 0
//
// The largest logit of a row is subtracted first, so that no exponential overflows. A row that
// holds a NaN or +Inf, or nothing but -Inf, has a gradient and a loss of NaN, 0x7FC00000. The
// loss of a target whose logit is -Inf is +Inf. Without any row that counts the loss is 0.
//
// exec says how the call is computed; the zero Exec is the default. In the steady state a call allocates nothing. An
// error is a [*kernel.Error], and leaves dlogits untouched.
func CrossEntropy(dlogits, logits []float32, n int, targets []int32, exec kernel.Exec) (float32, error) {
	if f := checkCrossEntropy(dlogits, logits, n, targets); f != nil {
		return 0, (*kernel.Error)(f.In("loss.CrossEntropy"))
	}
	t, err := elementwise.Tier("loss.CrossEntropy", &exec)
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
	if rows := len(logits) / n; len(targets) != rows {
		return &check.Failure{Where: "targets", Got: fmt.Sprintf("%d numbers", len(targets)), Want: fmt.Sprintf("%d, one for each row of logits", rows)}
	}
	for i, t := range targets {
		if t != Ignore && (t < 0 || int(t) >= n) {
			return &check.Failure{Where: fmt.Sprintf("targets[%d]", i), Got: fmt.Sprint(t), Want: fmt.Sprintf("0 to %d, or Ignore", n-1)}
		}
	}
	if dlogits != nil && len(dlogits) != len(logits) {
		return &check.Failure{Where: "dlogits", Got: fmt.Sprintf("length %d", len(dlogits)), Want: fmt.Sprintf("length %d, that of logits, or nil", len(logits))}
	}
	d, l := view.MemoryOf(dlogits), view.MemoryOf(logits)
	if d != l && d.Overlaps(l) {
		return &check.Failure{Where: "dlogits", Got: "memory that overlaps a part of logits", Want: "logits itself, or memory of its own"}
	}
	if d.Overlaps(view.MemoryOf(targets)) {
		return &check.Failure{Where: "dlogits", Got: "memory that overlaps targets", Want: "memory of its own"}
	}
	return nil
}

// nan is the one NaN that results have.
var nan = math.Float32frombits(0x7fc00000)
