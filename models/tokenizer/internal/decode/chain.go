// Package decode has the decoders of Hugging Face's tokenizers: how tokens become a text. They take
// tokens one by one, as a model generates them, and hold back what the next one may change.
package decode

import "strings"

// Step takes tokens and gives others to out. flush gives what has been held back, and begins anew.
type Step interface {
	next(token string, out func(string))
	flush(out func(string))
}

// Maker makes a step for one text.
type Maker func() Step

// Chain is a sequence of steps, each of which takes what the one before gives.
type Chain struct {
	steps []Step
	text  strings.Builder
}

// New returns a chain.
func New(makers []Maker) *Chain {
	c := &Chain{}
	for _, m := range makers {
		c.steps = append(c.steps, m())
	}
	return c
}

// Next takes a token and returns the text that is complete with it.
func (c *Chain) Next(token string) string {
	c.give(0, token)
	return c.take()
}

// Flush returns what has been held back. The chain can then be used for another text.
func (c *Chain) Flush() string {
	for i, s := range c.steps {
		s.flush(func(token string) { c.give(i+1, token) })
	}
	return c.take()
}

func (c *Chain) give(step int, token string) {
	if step == len(c.steps) {
		c.text.WriteString(token)
		return
	}
	c.steps[step].next(token, func(token string) { c.give(step+1, token) })
}

func (c *Chain) take() string {
	text := c.text.String()
	c.text.Reset()
	return text
}
