package dialect

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/server/internal/fields"
	"github.com/attn-go/attn/models/server/internal/request"
)

// reasons are the ends of texts as clients know them.
var reasons = map[decoder.End]string{decoder.EndToken: "stop", decoder.EndText: "stop", decoder.EndGrammar: "stop", decoder.EndMaxTokens: "length", decoder.EndContext: "length"}

// mostTop is the most tokens of top_logprobs, as in OpenAI's API.
const mostTop = 20

// readTop reads logprobs and top_logprobs.
func readTop(o *decoder.GenerateOptions, logprobs bool, top *fields.Int) error {
	if fields.SetInt(&o.TopLogprobs, top); o.TopLogprobs < 0 || o.TopLogprobs > mostTop || o.TopLogprobs > 0 && !logprobs {
		return fields.Errorf("top_logprobs", "top_logprobs: got %d, want 0 to %d, with logprobs", o.TopLogprobs, mostTop)
	}
	o.Logprobs = logprobs
	return nil
}

// reasonOf returns why a choice ends, "" if it goes on.
func reasonOf(e *request.Event) string {
	if reason := reasons[e.End]; reason != "stop" || !e.Called {
		return reason
	}
	return "tool_calls"
}

// tokenLogprob is a token with its logarithm, as OpenAI's chat API has it.
type tokenLogprob struct {
	Token   string          `json:"token"`
	Logprob float32         `json:"logprob"`
	Bytes   []int           `json:"bytes"`                  // also of a token that is a part of a character
	Top     *[]tokenLogprob `json:"top_logprobs,omitempty"` // nil within top_logprobs
	bytes   []byte
}

// leastLogprob stands for the logarithm of 0, which JSON has no number for.
const leastLogprob = -9999

// logprobsOf returns the logarithms of the tokens of an event.
func logprobsOf(e *request.Event) []tokenLogprob {
	all := make([]tokenLogprob, len(e.Tokens))
	for i, t := range e.Tokens {
		all[i] = newTokenLogprob(e.Bytes(t.ID), t.Logprob)
		list := make([]tokenLogprob, len(t.Top))
		for k, top := range t.Top {
			list[k] = newTokenLogprob(e.Bytes(top.ID), top.Logprob)
		}
		all[i].Top = &list
	}
	return all
}

func newTokenLogprob(bytes []byte, logprob float32) tokenLogprob {
	l := tokenLogprob{Logprob: max(logprob, leastLogprob), Bytes: make([]int, len(bytes)), bytes: bytes}
	if math.IsNaN(float64(logprob)) {
		l.Logprob = leastLogprob
	}
	l.Token = strings.ToValidUTF8(string(bytes), "\uFFFD")
	for i, b := range bytes {
		l.Bytes[i] = int(b)
	}
	return l
}

// written returns the token as completions have it, whose form has no bytes: one that is a part of
// a character as OpenAI's API writes it, such as bytes:\xf0\x9f.
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
