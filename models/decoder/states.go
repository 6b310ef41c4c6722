package decoder

import (
	"slices"

	engine "github.com/attn-go/attn/models/internal/network"
)

// Recurrent layers carry a state from token to token. A text keeps some of its states: one
// after every [Model.checkpoint] tokens, so that it can be forked and truncated, the one
// that the last call of Forward began with, and the last one. A fork shares them. Where a
// text is cut between two of them, keys and values stay, and the next call reads the tokens
// after the first of the two once more. States have the same bits however a text was read.

// leastCheckpoint is the fewest tokens between two states that a text keeps.
const leastCheckpoint = 64

// checkpointOf returns how many tokens lie between two states that a text keeps: a power of
// two, so that a state takes no more memory than the keys and values between two of them.
// It is 0 for a model without recurrent layers.
func (n *network) checkpointOf() int {
	size := n.layers.Carries(leastCheckpoint)
	if size == 0 {
		return 0
	}
	every := leastCheckpoint
	for every < mostContext && size > int64(every)*n.kept() {
		every *= 2
	}
	return every
}

// Checkpoint returns the largest number of tokens, at most n, after which the text can go on
// without reading any of them again once it is forked or truncated there. It is n itself, but for
// models with recurrent layers: these carry a state from token to token, of which a text keeps the
// last one and one after every 64 tokens or more, see [Text.Fork]. Where some layers have a window,
// and a text has dropped keys that the token after the first n ones sees, it is 0, see [Text.Trim].
// It is also 0 for n below 0 and for a text that is freed.
func (t *Text) Checkpoint(n int) int {
	if t.session == nil || n < 0 {
		return 0
	}
	if n = min(n, t.Len()); t.session.model.checkpoint > 0 {
		n = after(t.state(n))
	}
	return t.keys(n)
}

// after returns the tokens of a state, which may be nil.
func after(s *engine.State) int {
	if s == nil {
		return 0
	}
	return s.After
}

// state returns the last state of the first n tokens, or nil.
func (t *Text) state(n int) *engine.State {
	for i := len(t.states) - 1; i >= 0; i-- {
		if t.states[i].After <= n {
			return t.states[i]
		}
	}
	return nil
}

// cutStates forgets the states after the first n tokens.
func (t *Text) cutStates(n int) {
	t.keepStates(func(s *engine.State) bool { return s.After <= n })
}

// keepStates forgets the other states, whose memory is used again if no fork has them.
func (t *Text) keepStates(keep func(s *engine.State) bool) {
	left := t.states[:0]
	for _, s := range t.states {
		if keep(s) {
			left = append(left, s)
		} else if s.Users--; !s.Shared && len(t.session.spare) < t.session.written {
			if s.Users > 0 {
				s.Memory = nil
			}
			t.session.spare = append(t.session.spare, s)
		}
	}
	clear(t.states[len(left):])
	t.states = left
}

// shareStates returns the states of the first n tokens for a fork.
func (t *Text) shareStates(n int) (shared []*engine.State) {
	for _, s := range t.states {
		if s.After <= n {
			s.Shared = true
			shared = append(shared, s)
		}
	}
	return shared
}

// rewind brings the keys and values of a text back to its last state, with which a call
// begins, and returns how many tokens are to be read again.
func (t *Text) rewind() (again int, err error) {
	if t.began = t.Checkpoint(t.Len()); t.kv.Len() > t.began {
		err = t.cutKeys(t.began)
	}
	t.cutStates(t.began)
	return t.Len() - t.began, err
}

// carry adds the states of a text for a pass that reads n tokens after the first ones.
func (s *Session) carry(t *Text, at, n int) {
	all := s.pages.Carries
	if n := len(all); n < cap(all) {
		all = all[:n+1]
	} else {
		all = append(all, engine.Carry{})
	}
	s.pages.Carries = all
	if s.model.checkpoint == 0 {
		return
	}
	c := &all[len(all)-1]
	c.Before, c.After = t.state(at), c.After[:0]
	for next := s.model.nextCheckpoint(at); next < at+n; next = s.model.nextCheckpoint(next) {
		c.After = append(c.After, s.newState(next, nil))
	}
	before := c.Before
	if len(c.After) > 0 {
		before = nil // which ends a chunk
	}
	c.After = append(c.After, s.newState(at+n, before))
}

// newState returns a state that a pass is to write, in the memory of the one before it if that can
// grow, or else in spare memory if there is some.
func (s *Session) newState(after int, before *engine.State) *engine.State {
	var old *engine.State
	grows := before.Grows(after)
	if i := slices.IndexFunc(s.spare, func(x *engine.State) bool { return grows == (x.Memory == nil) }); i >= 0 {
		old = s.spare[i]
		s.spare = slices.Delete(s.spare, i, i+1)
	}
	return s.model.layers.NewState(after, before, old)
}

// carried gives the texts of a pass the states that it has written. What the last pass ended
// with goes, so that a call of many passes keeps no more states than one of few.
func (s *Session) carried() {
	n := 0
	for i, t := range s.texts {
		c := &s.pages.Carries[i]
		for _, x := range c.After {
			x.Users++
		}
		t.keepStates(func(x *engine.State) bool { return x != c.Before || t.stays(x) })
		t.states = append(t.states, c.After...)
		n += len(c.After)
	}
	s.written = max(s.written, n)
}

// stays tells whether a text keeps a state that is not the last one: those at checkpoints, and
// the one that a call began with, to which a failing call goes back.
func (t *Text) stays(s *engine.State) bool {
	return s.After%t.session.model.checkpoint == 0 || s.After == t.began
}

func (m *Model) nextCheckpoint(at int) int { return (at/m.checkpoint + 1) * m.checkpoint }

// thin forgets those states of a text that are neither at a checkpoint nor the last one, nor
// the one that a call began with.
func (t *Text) thin() {
	last := after(t.state(t.Len()))
	t.keepStates(func(s *engine.State) bool { return s.After == last || t.stays(s) })
}
