package batch

import "github.com/attn-go/attn/models/decoder"

// worthwhile is how many tokens a request must save to wait for them, and how many the last page of
// a text must have to be kept.
const worthwhile = 16

// A source is where a request can get its first tokens from.
type source struct {
	text   *decoder.Text // nil for none
	node   *node
	tokens int
}

// admit lets requests begin, in fair order, as long as there is room.
func (s *Scheduler) admit() {
	for len(s.running) < s.o.Running {
		var from source
		s.mu.Lock()
		t, line, ok := s.waiting.take(func(t *Task) bool {
			var wait bool
			from, wait = s.source(t)
			return !wait
		})
		if ok && !s.fits(t, from) {
			s.waiting.putBack(line, t)
			ok = false
		}
		s.mu.Unlock()
		if !ok {
			return
		}
		t.line = line
		if err := s.begin(t, from); err != nil {
			s.left(line)
			s.ended(t, err)
		}
	}
}

// source returns where most of a request's tokens can come from, and whether it should wait for
// another request which is about to compute more of them. At least one token must be read.
func (s *Scheduler) source(t *Task) (best source, wait bool) {
	if t.reads() { // tokens that others have computed have no logits any more
		return source{}, false
	}
	most := len(t.tokens) - 1
	if n, have := s.tree.find(t.tokens[:most]); n != nil {
		best = source{n.text, n, n.text.Checkpoint(have)}
	}
	promised := 0
	for _, u := range s.running {
		n := common(t.tokens[:most], u.tokens)
		if n > u.done {
			promised = max(promised, n)
			n = u.done
		}
		if n = u.text.Checkpoint(n); n > best.tokens {
			best = source{u.text, u.shared, n}
		}
	}
	return best, promised >= best.tokens+worthwhile
}

// common returns the length of the prefix that a and b have in common.
func common(a, b []int32) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// fits tells whether there are pages for all tokens that a request has, and for one more of every
// request that runs. If nothing runs, it fits, as Submit has checked.
func (s *Scheduler) fits(t *Task, from source) bool {
	if len(s.running) == 0 {
		return true
	}
	need := s.pages(len(t.tokens)+1) - s.pages(from.tokens/s.tree.page*s.tree.page)
	for _, u := range s.running {
		need += s.pages(len(u.tokens)+1) - s.pages(u.done)
	}
	idle := s.idle()
	for n := from.node; n != nil && n.parent != nil && n.pins == 0; n = n.parent {
		idle -= s.pages(1) // the request will use it
	}
	return need <= s.session.FreePages()+idle
}

// begin makes the text of a request.
func (s *Scheduler) begin(t *Task, from source) (err error) {
	if from.text == nil {
		t.text = s.session.NewText()
	} else if t.text, err = from.text.Fork(from.tokens); err != nil {
		return err
	}
	t.done = from.tokens
	for t.shared = from.node; t.shared != nil && t.shared.depth*s.tree.page > from.tokens; {
		if t.shared = t.shared.parent; t.shared.parent == nil {
			t.shared = nil
		}
	}
	s.tree.touch(from.node)
	s.tree.pin(t.shared)
	s.running = append(s.running, t)
	s.mu.Lock()
	s.stats.Shared += uint64(from.tokens)
	s.mu.Unlock()
	s.ahead(t)
	return nil
}
