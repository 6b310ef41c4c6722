package kernel

import "fmt"

// validate reports the first option that does not fit the tensors, which fit
// each other.
func (o *Options) validate(out, q, k, v *Tensor) error {
	c := callShape{batch: q.shape[0], heads: q.shape[1], queries: q.shape[2], keys: k.shape[2]}
	if err := o.checkNumbers(); err != nil {
		return err
	}
	if err := o.checkPositions(&c); err != nil {
		return err
	}
	if err := o.Mask.check(&c); err != nil {
		return err
	}
	if err := o.checkPerHead(&c); err != nil {
		return err
	}
	if o.Bias.isSet() {
		if !o.Bias.isPlain() {
			return &ArgumentError{"Options.Bias", o.Bias.describe(), wantPlain}
		}
		if err := o.Bias.checkBroadcast("Options.Bias", o.Bias.len(), &c); err != nil {
			return err
		}
	}
	return o.checkOutputs(out, q, k, v, &c)
}

func (o *Options) checkNumbers() error {
	if !scorable(o.Scale) {
		return &ArgumentError{"Options.Scale", fmt.Sprint(o.Scale), "a finite number up to ±2^127, or 0 for 1/√D"}
	}
	if s := o.Softcap; s != 0 && !(s >= 0x1p-126 && scorable(s)) {
		return &ArgumentError{"Options.Softcap", fmt.Sprint(s), "2^-126 to 2^127, or 0 for none"}
	}
	if r := o.Dropout.Rate; !(r >= 0 && r < 1) {
		return &ArgumentError{"Options.Dropout.Rate", fmt.Sprint(r), "0 to below 1"}
	}
	if o.ScoreStage > ScoresMasked {
		return &ArgumentError{"Options.ScoreStage", fmt.Sprint(o.ScoreStage), "ScoresScaled, ScoresCapped or ScoresMasked"}
	}
	if o.Threads < 0 {
		return &ArgumentError{"Options.Threads", fmt.Sprint(o.Threads), "at least 1, or 0 for all"}
	}
	return nil
}

// scorable tells whether x is finite, also in the unit of base-2 exponentials.
func scorable(x float32) bool { return x >= -0x1p127 && x <= 0x1p127 }

func (o *Options) checkPositions(c *callShape) error {
	if err := checkPerBatch("Options.QueryStart", "position", o.QueryStart, c.batch, 1-maxPosition, maxPosition-c.queries); err != nil {
		return err
	}
	if err := checkPerBatch("Options.KeyStart", "position", o.KeyStart, c.batch, 0, maxPosition-c.keys); err != nil {
		return err
	}
	if n := len(o.Dropout.Sequences); o.Dropout.Sequences != nil && n != c.batch {
		return &ArgumentError{"Options.Dropout.Sequences", fmt.Sprintf("%d numbers", n), fmt.Sprintf("one per batch row: %d", c.batch)}
	}
	return nil
}

func (o *Options) checkPerHead(c *callShape) error {
	if o.ALiBi == nil && o.Sinks == nil {
		return nil
	}
	for i, values := range [...][]float32{o.ALiBi, o.Sinks} {
		arg, want := "Options.ALiBi", "a finite number up to ±2^127"
		if i == 1 {
			arg, want = "Options.Sinks", "a finite number up to ±2^127, or -Inf for none"
		}
		if values != nil && len(values) != c.heads {
			return &ArgumentError{arg, fmt.Sprintf("%d numbers", len(values)), fmt.Sprintf("one for each of q's heads: %d", c.heads)}
		}
		for h, x := range values {
			if !scorable(x) && (i == 0 || x != negInf[0]) {
				return &ArgumentError{arg, fmt.Sprintf("%v for head %d", x, h), want}
			}
		}
	}
	return nil
}

// checkOutputs reports outputs that do not fit the call or that share memory
// with anything else.
func (o *Options) checkOutputs(out, q, k, v *Tensor, c *callShape) error {
	names := [...]string{"out", "Options.LSE", "Options.Weights", "Options.Scores"}
	columns := [...]int{out.shape[3], 1, c.keys, c.keys}
	var written [len(names)]memory
	for i, t := range [...]*Tensor{out, &o.LSE, &o.Weights, &o.Scores} {
		if i > 0 && !t.isSet() {
			continue
		}
		if want := [4]int{c.batch, c.heads, c.queries, columns[i]}; t.shape != want {
			return &ArgumentError{names[i], t.describe(), fmt.Sprintf("shape %v", want)}
		}
		if i > 0 && t.dtype != Float32 {
			return &ArgumentError{names[i], t.describe(), "float32"}
		}
		if i > 0 && t.shape[3] > 0 {
			if err := t.checkOutput(names[i]); err != nil {
				return err
			}
			if err := t.checkLengths(names[i], out, "out"); err != nil {
				return err
			}
		}
		written[i] = t.memory()
		if err := checkOverlap(names[i], written[i], q, k, v, o, written[:i]); err != nil {
			return err
		}
	}
	return nil
}

// checkOutput reports an output that is not valid by itself.
func (t *Tensor) checkOutput(name string) error {
	if err := t.checkAny(name); err != nil {
		return err
	}
	return t.checkWritable(name)
}

// checkWritable reports a valid tensor that is no output.
func (t *Tensor) checkWritable(name string) error {
	if !t.isFloat() {
		return &ArgumentError{name, t.describe(), wantPlain}
	}
	return t.checkDistinct(name)
}

// checkOverlap reports an output whose memory an input or another output shares.
func checkOverlap(name string, written memory, q, k, v *Tensor, o *Options, others []memory) error {
	shared := func(with string) error {
		return &ArgumentError{name, "memory that overlaps " + with, "a range of memory of its own"}
	}
	names := [...]string{"q", "k", "v", "Options.Bias"}
	for i, in := range [...]*Tensor{q, k, v, &o.Bias} {
		if written.overlaps(in.memory()) {
			return shared(names[i])
		}
		if in.scales != nil && written.overlaps(in.scales.memory()) {
			return shared("the scales of " + names[i])
		}
	}
	if written.overlaps(memoryOf(o.ALiBi)) {
		return shared("Options.ALiBi")
	}
	if written.overlaps(memoryOf(o.Sinks)) {
		return shared("Options.Sinks")
	}
	for _, other := range others {
		if written.overlaps(other) {
			return shared("another output")
		}
	}
	return nil
}

// validateMerge reports the first argument of Merge that does not fit.
func validateMerge(out *Tensor, parts []Partials, o *MergeOptions) error {
	if err := out.CheckOutput("out"); err != nil {
		return err
	}
	b, h, l, dv := out.shape[0], out.shape[1], out.shape[2], out.shape[3]
	for x := range parts {
		p := &parts[x]
		if err := p.check("parts", p.Blocks); err != nil {
			return err
		}
		if got, want := [4]int{p.Batch, p.Heads, p.Queries, p.HeadSize}, out.shape; got != want {
			return &ArgumentError{"parts", fmt.Sprintf("part %d of [%d %d %d %d]", x, got[0], got[1], got[2], got[3]), fmt.Sprintf("out's shape %v", want)}
		}
		for _, s := range [...][]float32{p.Max, p.Sum, p.Out} {
			if in := memoryOf(s); in.overlaps(out.memory()) || in.overlaps(o.LSE.memory()) {
				return &ArgumentError{"parts", "memory that overlaps an output", "memory of their own"}
			}
		}
	}
	c := callShape{batch: b, heads: h, queries: l}
	options := Options{Sinks: o.Sinks, LSE: o.LSE}
	if err := options.checkPerHead(&c); err != nil {
		return err
	}
	none := BHLD([]float32(nil), 0, 0, 0, dv)
	return options.checkOutputs(out, &none, &none, &none, &c)
}
