package network

// A State is what recurrent layers carry from the first tokens of a text to the next one.
// It never changes once a pass has written it.
type State struct {
	After  int         // tokens
	Layers [][]float32 // of each layer; empty where a layer carries nothing
	Shared bool        // several texts have it
}

// NewState returns a state that a pass is to write, in the memory of another one, which may
// be nil.
func (n *Network) NewState(after int, old *State) *State {
	s := old
	if s == nil {
		s = &State{Layers: make([][]float32, len(n.Layers))}
	}
	s.After = after
	for i, l := range n.Layers {
		if size := l.Mix.carries(after); cap(s.Layers[i]) < size {
			s.Layers[i] = make([]float32, size)
		} else {
			s.Layers[i] = s.Layers[i][:size]
		}
	}
	return s
}

// Carries returns how many numbers a state has after so many tokens.
func (n *Network) Carries(after int) (size int64) {
	for _, l := range n.Layers {
		size += int64(l.Mix.carries(after))
	}
	return size
}

// A Carry is the states of a text in a pass.
type Carry struct {
	Before *State   // that of the tokens before those of the pass; nil if there are none
	After  []*State // those that the pass writes, in ascending order
}

// of returns the numbers of a layer before the pass, nil at the beginning of a text.
func (c *Carry) of(layer int) []float32 {
	if c.Before == nil {
		return nil
	}
	return c.Before.Layers[layer]
}
