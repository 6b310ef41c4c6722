package arch

// A Convolution is the gated short convolution of LFM2: out(c·conv(b·x)), where b, c and x
// are the parts of in(h), and conv sums Taps neighbours of each channel, the token and those
// before it.
type Convolution struct {
	Taps int
	Bias Bias // of in, conv and out
}

// A Delta is the gated delta net of Qwen3-Next and Qwen3.5: see recurrent.GatedDelta.
type Delta struct {
	Heads, KeyHeads, KeySize, ValueSize int
	Taps                                int  // of the convolution of queries, keys and values
	Grouped                             bool // the outputs of in are grouped by the heads of keys, in two tensors
	Apart                               bool // heads of values with the same keys lie KeyHeads apart, not side by side
}

// Order returns, of heads of values of which those with the same keys lie side by side, where they
// lie in files with Apart.
func (d *Delta) Order() (all []int) {
	for k := range d.KeyHeads {
		for h := k; h < d.Heads; h += d.KeyHeads {
			all = append(all, h)
		}
	}
	return all
}

// A StateSpace is the layer of Mamba-2: see recurrent.StateSpace.
type StateSpace struct {
	Heads, KeyHeads, KeySize, ValueSize int
	Taps                                int        // of the convolution of values, keys and queries
	Bias, TapsBias                      Bias       // of in and out, and of the convolution
	NormParts                           int        // of the outputs, each of which has its norm; 0: there is none
	Limits                              [2]float32 // of gates
}

func (*Convolution) mixer() {}
func (*Delta) mixer()       {}
func (*StateSpace) mixer()  {}
