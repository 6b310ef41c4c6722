package batch

import (
	"context"
	"errors"
	"slices"

	"github.com/attn-go/attn/kvcache"
	"github.com/attn-go/attn/models/decoder"
)

// A Draft is the settings of a model that guesses how texts go on. What it guesses changes no
// answer: Next gets the logits that it would get without, after the same tokens.
type Draft struct {
	Open    func() (*decoder.Session, error)
	Page    int // tokens of a page of the session
	Context int // most tokens of a text
	Most    int // guesses of a text in a step
}

// drafts are the texts of a draft model, one for each answer, and prefixes of those that have
// ended.
type drafts struct {
	*Draft
	session *decoder.Session
	tree    *tree
}

func (d *Draft) open() (*drafts, error) {
	if d == nil {
		return nil, nil
	}
	session, err := d.Open()
	if err != nil {
		return nil, err
	}
	return &drafts{d, session, newTree(d.Page)}, nil
}

// guess lets the draft model, or the layer of the model, guess how answers go on. Together they
// read no more tokens in a step than answers and shares of prompts do, so that many answers have
// few guesses; what a draft model lacks of a text it reads in several steps.
func (s *Scheduler) guess(ctx context.Context) error {
	if s.drafts == nil && s.o.Ahead == 0 {
		return nil
	}
	s.forget()
	answers := s.answering()
	for {
		var err error
		if s.drafts != nil {
			err = s.drafts.guess(ctx, answers, s.o.Chunk)
		} else {
			err = s.guessAhead(ctx, answers)
		}
		var full *kvcache.CapacityError
		if !errors.As(err, &full) {
			return err
		}
		if s.drafts != nil && !s.drafts.makeRoom(full.Need-full.Free) && !s.letGo() || s.drafts == nil && !s.closeAhead() {
			return nil
		}
	}
}

// guessAhead lets the layer of the model read what the last step has read, of prompts too, and
// guess how answers go on.
func (s *Scheduler) guessAhead(ctx context.Context, answers []*Task) error {
	most := min(s.o.Ahead, s.o.Chunk/max(1, len(answers))-1)
	var of []*Task
	var all []*decoder.Guess
	for _, t := range s.running {
		if t.reader == nil && t.done > 0 {
			g := &decoder.Guess{Text: t.text, Known: t.tokens[:t.done+1]}
			if t.answers() {
				g.Most = max(0, min(most, t.Most-1-len(t.tokens)))
			}
			of, all = append(of, t), append(all, g)
		}
	}
	if err := s.session.Ahead(ctx, all...); err != nil {
		return err
	}
	for i, t := range of {
		t.guesses = all[i].Tokens
	}
	return nil
}

// closeAhead gives back what the layer has read of the prefix that was used least recently, first
// of those that no running request shares, or else of the longest text, and tells whether there was
// something.
func (s *Scheduler) closeAhead() bool {
	for _, shared := range []bool{false, true} {
		for e := s.tree.order.Back(); e != nil; e = e.Prev() {
			if n := e.Value.(*node); (n.pins > 0) == shared && n.text.CloseAhead() {
				return true
			}
		}
	}
	longest := slices.Clone(s.running)
	slices.SortStableFunc(longest, func(a, b *Task) int { return b.done - a.done })
	return slices.ContainsFunc(longest, func(t *Task) bool { return t.text.CloseAhead() })
}

// letGo gives back what the draft model has read of the longest text, for which nothing is guessed
// any more, and tells whether there was one. So a text that its cache does not hold takes no
// guesses from others.
func (s *Scheduler) letGo() bool {
	var longest *Task
	for _, t := range s.running {
		if t.draft != nil && (longest == nil || len(t.tokens) > len(longest.tokens)) {
			longest = t
		}
	}
	if longest == nil {
		return false
	}
	longest.draft.Free()
	longest.draft, longest.large = nil, true
	return true
}

// answering lists the requests that get a token in the next step, but not their first one.
func (s *Scheduler) answering() (answers []*Task) {
	for _, t := range s.running {
		if t.answers() {
			answers = append(answers, t)
		}
	}
	return answers
}

// answers tells whether a request gets a token in the next step, but not its first one.
func (t *Task) answers() bool { return t.answer && t.reader == nil && len(t.tokens)-t.done == 1 }

// guess sets the guesses of answers, of which all together have so many tokens in a step.
func (d *drafts) guess(ctx context.Context, answers []*Task, budget int) error {
	most := min(d.Most, budget/max(1, len(answers))-1)
	var late []decoder.Step
	var of []*Task
	var all []*decoder.Guess
	for _, t := range answers {
		n := min(most, t.Most-1-len(t.tokens), d.Context-len(t.tokens))
		if n < 1 || t.large {
			continue
		}
		if t.draft == nil {
			if err := d.begin(t); err != nil {
				return err
			}
		}
		lacks := len(t.tokens) - common(t.draft.Tokens(), t.tokens)
		if lacks <= budget {
			budget -= lacks
			of, all = append(of, t), append(all, &decoder.Guess{Text: t.draft, Known: t.tokens, Most: n})
			continue
		}
		rest, err := t.draft.Keep(t.tokens)
		if err != nil {
			return err
		}
		if budget > 0 {
			late = append(late, decoder.Step{Text: t.draft, Tokens: rest[:budget], Logits: decoder.LogitsNone})
			budget = 0
		}
	}
	if len(late) > 0 {
		if _, err := d.session.Forward(ctx, late...); err != nil {
			return err
		}
	}
	if err := d.session.Guess(ctx, all...); err != nil {
		return err
	}
	for i, t := range of {
		t.guesses = all[i].Tokens
	}
	return nil
}

// begin makes the draft model's text of an answer, with what it has of its beginning.
func (d *drafts) begin(t *Task) (err error) {
	n, have := d.tree.find(t.tokens[:len(t.tokens)-1])
	if n == nil {
		t.draft = d.session.NewText()
		return nil
	}
	d.tree.touch(n)
	t.draft, err = n.text.Fork(n.text.Checkpoint(have))
	return err
}

// end keeps what the draft model has read of a text as a prefix.
func (d *drafts) end(t *Task) error {
	if t.large = false; d == nil || t.draft == nil {
		return nil
	}
	n := common(t.draft.Tokens(), t.tokens)
	err := d.tree.keep(t.draft, t.tokens[:n], span{})
	t.draft.Free()
	t.draft, t.guesses = nil, nil
	return err
}

// makeRoom gives back pages of prefixes, and tells whether there were some.
func (d *drafts) makeRoom(pages int) (dropped bool) {
	for want := d.session.FreePages() + pages; d.session.FreePages() < want && d.tree.drop(); {
		dropped = true
	}
	return dropped
}

// forget leaves out all guesses of a step for which the cache has no room, and tells whether there
// were some.
func (s *Scheduler) forget() (some bool) {
	for _, t := range s.running {
		some = some || len(t.guesses) > 0
		t.guesses = nil
	}
	return some
}

// confirm chooses tokens of an answer as long as they are those that were guessed, and the one
// after them.
func (s *Scheduler) confirm(t *Task, logits []float32) (end bool, err error) {
	guesses := t.guesses
	t.guesses = nil
	size, right := len(logits)/(1+len(guesses)), 0
	for {
		if end, err = t.next(logits[right*size:][:size]); err != nil || end {
			break
		}
		if right == len(guesses) || t.tokens[len(t.tokens)-1] != guesses[right] {
			err = t.text.Truncate(t.done)
			break
		}
		right++
		t.done++
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t.line.work += right
	s.stats.Generated += uint64(right)
	s.stats.Guessed += uint64(len(guesses))
	s.stats.Right += uint64(right)
	return end, err
}
