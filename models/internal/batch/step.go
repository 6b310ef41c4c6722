package batch

import (
	"context"
	"errors"

	"github.com/attn-go/attn/kvcache"
	"github.com/attn-go/attn/models/decoder"
)

// compute lets the running requests read tokens, and choose one after the last, or several if
// guesses are right.
func (s *Scheduler) compute(ctx context.Context) {
	if err := s.guess(ctx); err != nil && ctx.Err() == nil {
		for _, t := range s.answering() {
			s.end(t, err)
		}
	}
	for len(s.running) > 0 {
		s.plan()
		logits, err := s.session.Forward(ctx, s.steps...)
		if err == nil {
			s.tally()
			for i, t := range s.stepped {
				s.advance(t, s.steps[i], logits[i])
			}
			return
		}
		var full *kvcache.CapacityError
		switch {
		case errors.As(err, &full) && (s.forget() || s.makeRoom(full.Need-full.Free)):
		case ctx.Err() != nil:
			return // Run ends
		default:
			// Some request cannot be computed, and nothing says which.
			for _, t := range s.stepped {
				s.end(t, err)
			}
			return
		}
	}
}

// reads tells whether Read is still to get logits. Once Next was called it has got all, and who
// waited for them may be reading what it made of them.
func (t *Task) reads() bool { return t.Read != nil && !t.answer }

// mostRows is the most tokens of a step whose logits are all wanted, as these take memory: 64 rows
// of 150,000 take 38 MB.
const mostRows = 64

// plan chooses the tokens of a step: one for every answer, and shares of the prompts.
func (s *Scheduler) plan() {
	answers, prompts := 0, 0
	for _, t := range s.running {
		switch {
		case t.reader != nil:
		case len(t.tokens)-t.done == 1:
			answers++
		default:
			prompts++
		}
	}
	budget := s.o.Step
	if answers > 0 {
		budget = s.o.Chunk
	}
	s.steps, s.stepped = s.steps[:0], s.stepped[:0]
	shares := s.shares(budget, prompts)
	rows := mostRows
	for _, t := range s.running {
		if t.reader != nil {
			continue
		}
		n := 1
		if left := len(t.tokens) - t.done; left > 1 {
			n, shares = shares[0], shares[1:]
		}
		logits := decoder.LogitsNone
		if t.reads() && t.done+1 < len(t.Prompt) {
			logits = decoder.LogitsAll
			n = min(n, rows)
			rows -= n
		} else if t.done+n == len(t.tokens) {
			logits = decoder.LogitsLast
		}
		if tokens := t.tokens[t.done : t.done+n : t.done+n]; n > 0 {
			if len(t.guesses) > 0 {
				tokens, logits = append(tokens, t.guesses...), decoder.LogitsAll
			}
			s.steps = append(s.steps, decoder.Step{Text: t.text, Tokens: tokens, Logits: logits})
			s.stepped = append(s.stepped, t)
		}
	}
}

// shares divides a budget of tokens among prompts that are being read: short ones are read at once,
// long ones get equal parts of what is left. The first one gets at least one token.
func (s *Scheduler) shares(budget, prompts int) []int {
	shares := make([]int, 0, prompts)
	wants := make([]int, 0, prompts)
	for _, t := range s.running {
		if left := len(t.tokens) - t.done; left > 1 && t.reader == nil {
			wants, shares = append(wants, left), append(shares, 0)
		}
	}
	for open := prompts; open > 0 && budget > 0; {
		part := max(1, budget/open)
		open = 0
		for i, want := range wants {
			n := min(part, want-shares[i], budget)
			shares[i] += n
			budget -= n
			if shares[i] < want {
				open++
			}
		}
	}
	return shares
}

// makeRoom gives back pages of prefixes that nobody uses, or those that no window sees any more, or
// stops the request that began last. It tells whether a step could fit now.
func (s *Scheduler) makeRoom(pages int) bool {
	dropped := false
	for want := s.session.FreePages() + pages; s.session.FreePages() < want && s.tree.drop(); {
		dropped = true
	}
	if dropped || s.trim() {
		return true
	}
	if len(s.running) < 2 {
		return false
	}
	t := s.running[len(s.running)-1]
	if err := s.release(t); err != nil {
		s.left(t.line)
		s.ended(t, err)
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting.putBack(t.line, t)
	s.stats.Preempted++
	return true
}

// trim drops what no window of the running requests sees any more. The prefixes that they share
// keep nothing then: what an answer leaves in the tree takes their place, see [tree.keep].
func (s *Scheduler) trim() (trimmed bool) {
	if !s.windows() {
		return false
	}
	free := s.session.FreePages()
	for _, t := range s.running {
		t.text.Trim()
		for n := t.shared; n != nil && n.parent != nil; n = n.parent {
			if err := n.text.Truncate(0); err != nil {
				return false
			}
		}
	}
	return s.session.FreePages() > free
}

// tally counts what a step has computed.
func (s *Scheduler) tally() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Steps++
	for i, t := range s.stepped {
		n := len(s.steps[i].Tokens) - len(t.guesses)
		if t.line.work += n; !t.answer || n > 1 {
			s.stats.Read += uint64(n)
		}
		if t.done += n; t.done == len(t.tokens) {
			s.stats.Generated++
		}
	}
}

// advance gives a request the logits of its step: Read those that it wants, and Next the last ones
// if all tokens have been read. A panic there is the request's alone.
func (s *Scheduler) advance(t *Task, step decoder.Step, logits []float32) {
	var end bool
	var err error
	defer func() {
		if x := recover(); x != nil {
			err = panicked(x)
		}
		if err != nil || end {
			s.end(t, err)
		}
	}()
	if len(t.guesses) > 0 {
		end, err = s.confirm(t, logits)
		return
	}
	if step.Logits == decoder.LogitsAll {
		all, size := logits, len(logits)/len(step.Tokens)
		for i := range step.Tokens {
			logits = all[i*size:][:size]
			if at := t.done - len(step.Tokens) + i; at+1 < len(t.Prompt) {
				if err = t.Read(at, logits); err != nil {
					return
				}
			}
		}
	}
	if t.done < len(t.tokens) {
		return
	}
	end, err = t.next(logits)
}

// next chooses the next token of a request, and tells whether the text ends.
func (t *Task) next(logits []float32) (end bool, err error) {
	t.answer = true
	id, end, err := t.Next(logits, t.tokens)
	if err != nil || end || len(t.tokens)+1 >= t.Most {
		return true, err
	}
	t.tokens = append(t.tokens, id)
	return false, nil
}
