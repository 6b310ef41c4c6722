package network

// A State is what recurrent layers carry from the first tokens of a text to the next one.
// It never changes once a pass has written it.
type State struct {
	After int         // tokens
	Taps  [][]float32 // of convolutions, for each layer; empty where a layer has none
	*Memory
}

// A Memory is what states have beside Taps. States between the same two multiples of chunk may
// share one. Each adds its tokens, and reads only the tokens up to its own.
type Memory struct {
	Layers [][]float32 // of each layer; empty where a layer carries nothing
	Shared bool        // several texts have it
	Users  int         // states of a text that have it
}

// chunk is where states of package recurrent change altogether.
const chunk = 64

// Grows tells whether the state after so many tokens has room in the memory of this one, which may
// be nil.
func (s *State) Grows(after int) bool {
	return s != nil && !s.Shared && s.After%chunk > 0 && s.After/chunk == after/chunk
}

// NewState returns a state that a pass is to write: in the memory of before if that can grow there,
// and else in the memory of old. Both may be nil.
func (n *Network) NewState(after int, before, old *State) *State {
	s := old
	if s == nil {
		s = &State{Taps: make([][]float32, len(n.Layers))}
	}
	s.After = after
	switch {
	case before.Grows(after):
		s.Memory = before.Memory
	case s.Memory == nil:
		s.Memory = &Memory{Layers: make([][]float32, len(n.Layers))}
	}
	for i, l := range n.Layers {
		taps, state := l.Mix.carries(after)
		s.Taps[i], s.Layers[i] = fitting(s.Taps[i], taps), fitting(s.Layers[i], state)
	}
	return s
}

// fitting returns memory for n numbers.
func fitting(x []float32, n int) []float32 {
	if cap(x) < n {
		return make([]float32, n)
	}
	return x[:n]
}

// Carries returns how many numbers a state has after so many tokens.
func (n *Network) Carries(after int) (size int64) {
	for _, l := range n.Layers {
		taps, state := l.Mix.carries(after)
		size += int64(taps + state)
	}
	return size
}

// A Carry is the states of a text in a pass.
type Carry struct {
	Before *State   // after the tokens before the pass; nil if there are none
	After  []*State // those that the pass writes, in ascending order
}

// taps and state are what a layer has of the tokens before the pass, nil at the beginning of a
// text.
func (c *Carry) taps(layer int) []float32 {
	if c.Before == nil {
		return nil
	}
	return c.Before.Taps[layer]
}

func (c *Carry) state(layer int) []float32 {
	if c.Before == nil {
		return nil
	}
	return c.Before.Layers[layer]
}
