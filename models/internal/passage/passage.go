// Package passage cuts files into the texts that a search ranks: lines, paragraphs, or windows of
// as many words as a model sees, which overlap.
//
//	for p, err := range passage.Read(file, passage.Options{Unit: passage.Paragraph}) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(p.First, p.Text)
//	}
package passage

import (
	"fmt"
	"io"
	"iter"
	"strings"
)

// A Unit says what a passage is.
type Unit int

const (
	Line      Unit = iota // a line, also an empty one
	Paragraph             // the lines between blank ones
	Window                // words of one or several lines, see Options.Tokens
)

var units = []string{"line", "paragraph", "window"}

// String returns "line", "paragraph" or "window".
func (u Unit) String() string {
	if u < 0 || int(u) >= len(units) {
		return fmt.Sprintf("Unit(%d)", int(u))
	}
	return units[u]
}

// ParseUnit returns the unit with a name.
func ParseUnit(name string) (Unit, error) {
	for u, s := range units {
		if s == name {
			return Unit(u), nil
		}
	}
	return 0, fmt.Errorf("want %s", strings.Join(units, ", "))
}

// A Passage is a part of a file.
type Passage struct {
	Text        string   // without the end of its last line
	First, Last int      // its lines, counted from 1
	Before      []string // up to Options.Context lines that lie before it
	After       []string // and after it
	Bytes       int      // of the file from the end of the passage before to its end, 0 for what overlaps
}

// Options say what the passages of a file are.
type Options struct {
	Unit    Unit
	Context int // lines before and after a passage that it is given with

	// A Window has at most Tokens tokens, which Count counts for any text, and the next one begins
	// with its last quarter. Both are needed for windows alone.
	Tokens int
	Count  func(text string) int
}

// check returns an error for options that do not fit each other.
func (o *Options) check() error {
	switch {
	case o.Unit < Line || o.Unit > Window:
		return fmt.Errorf("passage: Options.Unit: got %v, want Line, Paragraph or Window", o.Unit)
	case o.Context < 0:
		return fmt.Errorf("passage: Options.Context: got %d, want 0 or more", o.Context)
	case o.Unit == Window && (o.Tokens < 1 || o.Count == nil):
		return fmt.Errorf("passage: Options.Tokens: got %d and Count %t, want at least 1 and a function for windows", o.Tokens, o.Count != nil)
	}
	return nil
}

// Read returns the passages of a file in order. A line is read when it is needed: for lines without
// context, no more is read than what is returned. Windows need the whole file. The error comes from
// r, or from options that do not fit each other; after it there is no passage.
func Read(r io.Reader, o Options) iter.Seq2[Passage, error] {
	return func(yield func(Passage, error) bool) {
		err := o.check()
		if err == nil {
			f := newLines(r)
			switch o.Unit {
			case Line:
				err = f.lines(o.Context, yield)
			case Paragraph:
				err = f.paragraphs(o.Context, yield)
			case Window:
				err = f.windows(&o, yield)
			}
		}
		if err != nil {
			yield(Passage{}, err)
		}
	}
}

// lines yields every line.
func (f *lines) lines(context int, yield func(Passage, error) bool) error {
	for n := 1; f.has(n); n++ {
		if !f.yield(n, n, context, yield) {
			return nil
		}
	}
	return f.err
}

// paragraphs yields the lines between blank ones.
func (f *lines) paragraphs(context int, yield func(Passage, error) bool) error {
	for n := 1; f.has(n); n++ {
		if blank(f.at(n)) {
			continue
		}
		last := n
		for f.has(last+1) && !blank(f.at(last+1)) {
			last++
		}
		if f.err != nil {
			break
		}
		if !f.yield(n, last, context, yield) {
			return nil
		}
		n = last
	}
	return f.err
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }
