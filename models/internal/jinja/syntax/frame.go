package syntax

// A Frame is a part of a template that has variables of its own: the template, the body of a loop,
// of a macro or of a block that captures what it prints.
//
// In jinja2 a variable belongs to a frame from its beginning if the frame sets it before it reads
// it: until then it is not defined in the frames within, although the template may have been given
// a variable of that name. Hidden are these names. What only one branch of an if sets is not.
type Frame struct {
	outer    *Frame
	seen     map[string]bool // names that the frame has read or set
	stored   []string        // of these, those that it sets before it reads them
	Hidden   []string
	branches int // of ifs around the current place
}

// enter begins a frame within the current one, which has some names from the outside.
func (p *parser) enter(names ...string) *Frame {
	f := &Frame{outer: p.frame, seen: map[string]bool{}}
	for _, name := range names {
		f.seen[name] = true
	}
	p.frame = f
	p.frames = append(p.frames, f)
	return f
}

// within parses a body that is a frame.
func (p *parser) within(parse func(), names ...string) *Frame {
	f := p.enter(names...)
	parse()
	p.frame = f.outer
	return f
}

// store says that a target is set.
func (f *Frame) store(t Target) {
	switch t := t.(type) {
	case ToAll:
		for _, one := range t {
			f.store(one)
		}
	case *ToAttribute:
		f.seen[t.Of] = true
	case ToName:
		if name := string(t); !f.seen[name] {
			if f.seen[name] = true; f.branches == 0 {
				f.stored = append(f.stored, name)
			}
		}
	}
}

// finishFrames finds the hidden names of all frames: those that no frame around knows.
func (p *parser) finishFrames() {
	for _, f := range p.frames {
		for _, name := range f.stored {
			known := false
			for o := f.outer; o != nil && !known; o = o.outer {
				known = o.seen[name]
			}
			if !known {
				f.Hidden = append(f.Hidden, name)
			}
		}
	}
}

// targets returns the names of a target.
func targets(t Target) (names []string) {
	switch t := t.(type) {
	case ToAll:
		for _, one := range t {
			names = append(names, targets(one)...)
		}
	case ToName:
		names = []string{string(t)}
	}
	return names
}
