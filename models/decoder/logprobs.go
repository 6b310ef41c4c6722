package decoder

import (
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/loss"
	"github.com/attn-go/attn/numeric"
)

// A TokenLogprob is the logarithm of the probability that the model gives a token.
type TokenLogprob struct {
	ID      int32
	Logprob float32 // natural; -Inf for a probability of 0
}

// logprobs are the logarithms of probabilities, and the memory to compute them in.
type logprobs struct {
	exec kernel.Exec
	best [1]int32
	ids  []int
}

// of returns the logarithm for a token, and for the n most probable ones, the most probable first,
// of equal ones the lower id first. If a logit is NaN or +Inf, all are NaN.
//
// The logarithm is the cross-entropy of package contract with the other sign: with top the largest
// logit, and log2(S)·LN2 the loss of the most probable token,
//
//	logprob[i] = -((top - logits[i]) + log2(S)·LN2)
func (l *logprobs) of(logits []float32, id int32, n int) (float32, []TokenLogprob, error) {
	l.best[0] = int32(max(0, numeric.Argmax(logits)))
	top := logits[l.best[0]]
	total, err := loss.CrossEntropy(nil, logits, len(logits), l.best[:], l.exec)
	if err != nil {
		return 0, nil, err
	}
	of := func(id int) float32 { return -((top - logits[id]) + total) }
	if n = min(n, len(logits)); n == 0 {
		return of(int(id)), nil, nil
	}
	l.ids = resized(l.ids, n)
	if err := numeric.TopK(l.ids, logits); err != nil {
		return 0, nil, err
	}
	list := make([]TokenLogprob, n)
	for i, id := range l.ids {
		list[i] = TokenLogprob{int32(id), of(id)}
	}
	return of(int(id)), list, nil
}
