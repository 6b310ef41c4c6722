package chat

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/attn-go/attn/models/decoder"
)

// ordered prints texts that grow side by side one after the other: the first one as it grows,
// the others in the end.
type ordered struct {
	w      io.Writer
	titles []string // nil for a text without a title
	prefix string   // of every text
	texts  []strings.Builder
	begun  bool
}

// begin prints the title and the prefix of a text.
func (o *ordered) begin(i int) {
	if o.titles != nil {
		fmt.Fprintf(o.w, "--- %s\n", o.titles[i])
	}
	io.WriteString(o.w, o.prefix)
	o.begun = true
}

// add lets text i grow.
func (o *ordered) add(i int, text string) {
	o.texts[i].WriteString(text)
	if i == 0 {
		if !o.begun {
			o.begin(0)
		}
		io.WriteString(o.w, text)
	}
}

// finish prints what is not printed yet.
func (o *ordered) finish() {
	if !o.begun {
		o.begin(0)
	}
	o.end(0)
	for i := 1; i < len(o.texts); i++ {
		o.begin(i)
		io.WriteString(o.w, o.texts[i].String())
		o.end(i)
	}
}

// end ends the last line of a text.
func (o *ordered) end(i int) {
	if !strings.HasSuffix(o.texts[i].String(), "\n") {
		fmt.Fprintln(o.w)
	}
}

// speed measures an answer: how fast the model reads and writes.
type speed struct {
	read, tokens int
	start, first time.Time
}

// startSpeed starts to measure, before the model reads prompts.
func startSpeed(prompts [][]int32) *speed {
	s := &speed{start: time.Now()}
	shared := decoder.SharedPrefix(prompts)
	s.read = shared
	for _, p := range prompts {
		s.read += len(p) - shared
	}
	return s
}

// token counts a token, but not one that only ends a text.
func (s *speed) token(t decoder.Token) {
	if t.End == decoder.EndToken {
		return
	}
	if s.tokens == 0 {
		s.first = time.Now()
	}
	s.tokens++
}

// report writes the speeds. The first token of each text follows from reading the prompt, so the
// time from it on belongs to the others.
func (s *speed) report(w io.Writer) {
	if s.tokens == 0 {
		return
	}
	fmt.Fprintf(w, "\n[prompt: %d tokens, %.0f tokens/s", s.read, float64(s.read)/s.first.Sub(s.start).Seconds())
	if took := time.Since(s.first).Seconds(); s.tokens > 1 && took > 0 {
		fmt.Fprintf(w, "; answer: %d tokens, %.0f tokens/s", s.tokens, float64(s.tokens-1)/took)
	}
	fmt.Fprintln(w, "]")
}
