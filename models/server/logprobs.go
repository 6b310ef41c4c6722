package server

import (
	"math"
	"strings"
)

// logprobs are the logarithms of the probabilities of the tokens of a choice.
type logprobs struct {
	tokens []tokenLogprob
}

// tokenLogprob is a token with its logarithm, as OpenAI's chat API has it.
type tokenLogprob struct {
	Token   string          `json:"token"`
	Logprob float32         `json:"logprob"`
	Bytes   []int           `json:"bytes"`                  // null for a token that is no complete text
	Top     *[]tokenLogprob `json:"top_logprobs,omitempty"` // nil for one of top_logprobs
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
		l.Token = tok.Decode([]int32{id}, true)
	}
	if !strings.ContainsRune(l.Token, '\uFFFD') {
		l.Bytes = []int{}
		for _, b := range []byte(l.Token) {
			l.Bytes = append(l.Bytes, int(b))
		}
	}
	return l
}
