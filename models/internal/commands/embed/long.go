package embed

import (
	"fmt"
	"io"
)

// A lengthCheck counts the tokens of texts and knows which ones the model does not see whole.
type lengthCheck struct {
	refuse bool // such a text is an error
	split  bool // the model sees all pieces of it

	max   int // tokens that the model sees
	count func(text string) int

	cut   int // texts that were too long
	first line
	most  int // tokens of the longest of them
}

// add counts the tokens of a text.
func (c *lengthCheck) add(l *line) error {
	l.tokens = c.count(l.text)
	if l.tokens <= c.max || c.split {
		return nil
	}
	if c.refuse {
		return fmt.Errorf("%s has %d tokens, and the model sees %d; -long cut takes its beginning", l.where(), l.tokens, c.max)
	}
	if l.cut = true; c.cut == 0 {
		c.first = *l
	}
	c.cut++
	c.most = max(c.most, l.tokens)
	return nil
}

// report warns of texts that were cut.
func (c *lengthCheck) report(w io.Writer) {
	switch {
	case c.cut == 1:
		fmt.Fprintf(w, "warning: of %s, which has %d tokens, the model saw the first %d only\n", c.first.where(), c.most, c.max)
	case c.cut > 1:
		fmt.Fprintf(w, "warning: of %d texts the model saw the first %d tokens only; the first of them is %s, the longest has %d\n", c.cut, c.max, c.first.where(), c.most)
	}
}
