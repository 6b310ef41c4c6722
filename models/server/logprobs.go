package server

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// logprobs are the logarithms of the probabilities of the tokens of a choice.
type logprobs struct {
	tokens []tokenLogprob
}

// tokenLogprob is a token with its logarithm, as OpenAI's chat API has it.
type tokenLogprob struct {
	Token   string          `json:"token"`
	Logprob float32         `json:"logprob"`
	Bytes   []int           `json:"bytes"`                  // also of a token that is a part of a character
	Top     *[]tokenLogprob `json:"top_logprobs,omitempty"` // nil for one of top_logprobs
	bytes   []byte
}

// addLogprobs adds the logarithms of a choice's tokens, if the request asks for them.
func (g *generation) addLogprobs(c *choice) {
	if !g.o.Logprobs {
		return
	}
	c.logprobs = &logprobs{tokens: []tokenLogprob{}}
	for _, t := range c.tokens {
		l := g.tokenLogprob(t.ID, t.Logprob)
		list := make([]tokenLogprob, len(t.Top))
		for i, top := range t.Top {
			list[i] = g.tokenLogprob(top.ID, top.Logprob)
		}
		l.Top = &list
		c.logprobs.tokens = append(c.logprobs.tokens, l)
	}
}

// leastLogprob stands for the logarithm of 0, which JSON has no number for.
const leastLogprob = -9999

func (g *generation) tokenLogprob(id int32, logprob float32) tokenLogprob {
	l := tokenLogprob{Logprob: max(logprob, leastLogprob)}
	if math.IsNaN(float64(logprob)) {
		l.Logprob = leastLogprob
	}
	if tok, err := g.h.generate.Tokenizer(); err == nil {
		l.bytes = tok.TokenBytes(id)
	}
	l.Token, l.Bytes = strings.ToValidUTF8(string(l.bytes), "\uFFFD"), make([]int, len(l.bytes))
	for i, b := range l.bytes {
		l.Bytes[i] = int(b)
	}
	return l
}

// written returns the token as completions have it, whose form has no bytes: one that is a part of a
// character as OpenAI's API writes it, such as bytes:\xf0\x9f.
func (l *tokenLogprob) written() string {
	if utf8.Valid(l.bytes) {
		return l.Token
	}
	var b strings.Builder
	b.WriteString("bytes:")
	for _, c := range l.bytes {
		fmt.Fprintf(&b, `\x%02x`, c)
	}
	return b.String()
}

// characters returns how many characters begin with the token.
func (l *tokenLogprob) characters() (n int) {
	for _, c := range l.bytes {
		if utf8.RuneStart(c) {
			n++
		}
	}
	return n
}
