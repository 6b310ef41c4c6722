package arch

// A Convolution is the gated short convolution of LFM2: out(c·conv(b·x)), where b, c and x
// are the parts of in(h), and conv sums Taps neighbours of each channel, the token and those
// before it.
type Convolution struct {
	Taps int
	Bias Bias // of in, conv and out
}

func (*Convolution) mixer() {}
