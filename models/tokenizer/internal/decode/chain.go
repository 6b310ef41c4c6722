// Package decode has the decoders of Hugging Face's tokenizers: how tokens become a text. They take
// tokens one by one, as a model generates them, and hold back what the next one may change.
package decode

// Step takes tokens and gives others to out. flush gives what has been held back, and begins anew.
type Step interface {
	next(token string, out func(string))
	flush(out func(string))

	// within returns the bytes that a token adds within a text: between others that change nothing
	// of it.
	within(token string) string
}

// Maker makes a step for one text.
type Maker func() Step

// Chain is a sequence of steps, each of which takes what the one before gives.
type Chain struct {
	steps []Step
	outs  []func(string) // of each step: gives to the one after it
	text  string
}

// New returns a chain.
func New(makers []Maker) *Chain {
	c := &Chain{}
	for i, m := range makers {
		c.steps = append(c.steps, m())
		c.outs = append(c.outs, func(token string) { c.give(i+1, token) })
	}
	return c
}

// Next takes a token that First has changed, and returns the text that is complete with it.
func (c *Chain) Next(token string) string {
	c.give(c.changing(), token)
	return c.take()
}

// First returns what the first steps make of a token, as far as they change each one by itself.
func (c *Chain) First(token string) string {
	for _, s := range c.steps[:c.changing()] {
		token = s.within(token)
	}
	return token
}

// Within returns the bytes that a token adds within a text.
func (c *Chain) Within(token string) string {
	for _, s := range c.steps {
		token = s.within(token)
	}
	return token
}

// changing returns the number of steps of First.
func (c *Chain) changing() int {
	for i, s := range c.steps {
		if _, ok := s.(each); !ok {
			return i
		}
	}
	return len(c.steps)
}

// Flush returns what has been held back. The chain can then be used for another text.
func (c *Chain) Flush() string {
	for i, s := range c.steps {
		s.flush(c.outs[i])
	}
	return c.take()
}

func (c *Chain) give(step int, token string) {
	switch {
	case step < len(c.steps):
		c.steps[step].next(token, c.outs[step])
	case c.text == "":
		c.text = token // mostly all there is
	default:
		c.text += token
	}
}

func (c *Chain) take() string {
	text := c.text
	c.text = ""
	return text
}
