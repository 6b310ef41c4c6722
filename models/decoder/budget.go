package decoder

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/tokenizer"
)

// A Budget limits how long a model thinks before it answers: after Tokens tokens between Begin and
// End, the tokens of End follow, whatever the logits say.
type Budget struct {
	Begin, End string // of thinking, in the text with [GenerateOptions.Markers]
	Open       bool   // the prompt ends within it
	Tokens     int    // 0 or more
}

// longestTag is the most bytes of Begin and End.
const longestTag = 256

// check reports a field that is out of range.
func (b *Budget) check() error {
	for _, f := range [...]struct {
		name, text string
		least      int
	}{{"End", b.End, 1}, {"Begin", b.Begin, 0}} {
		if n := len(f.text); n < f.least || n > longestTag || !utf8.ValidString(f.text) {
			return &kernel.Error{Where: "decoder: GenerateOptions.Budget." + f.name, Got: fmt.Sprintf("%d bytes: %.20q", n, f.text), Want: fmt.Sprintf("%d to %d bytes of UTF-8", f.least, longestTag)}
		}
	}
	if b.Tokens < 0 {
		return &kernel.Error{Where: "decoder: GenerateOptions.Budget.Tokens", Got: fmt.Sprint(b.Tokens), Want: "0 or more"}
	}
	if b.Begin == "" && !b.Open {
		return &kernel.Error{Where: "decoder: GenerateOptions.Budget.Begin", Got: "none", Want: "what begins thinking, or Open"}
	}
	return nil
}

// A budget follows a text. A nil one does nothing.
type budget struct {
	*Budget
	ends   []int32 // the tokens of End
	next   int     // of ends, how many are there
	tail   string  // of the text, what may be a part of the tag that comes next
	inside bool
	over   bool // End was there
	used   int  // tokens inside
}

// newBudget returns the budget of a text that is empty.
func (v *vocabulary) newBudget(b *Budget) *budget {
	ids := v.tokenizer.Encode(b.End, tokenizer.Options{NoSpecial: true})
	return &budget{Budget: b, ends: ids, inside: b.Open}
}

// force returns the token that must follow, if there is one.
func (b *budget) force() (id int32, forced bool) {
	if b == nil || b.over || !b.inside || b.used < b.Tokens || b.next == len(b.ends) {
		return 0, false
	}
	return b.ends[b.next], true
}

// add takes what the text grows by with a token.
func (b *budget) add(text string) {
	if b == nil || b.over {
		return
	}
	if b.inside {
		if _, forced := b.force(); forced {
			b.next++
		}
		b.used++
	}
	tag := b.Begin
	if b.inside {
		tag = b.End
	}
	b.tail += text
	if at := strings.Index(b.tail, tag); at >= 0 && tag != "" {
		b.tail = b.tail[at+len(tag):]
		if b.over = b.inside; !b.inside {
			b.inside = true
			b.over = strings.Contains(b.tail, b.End)
		}
	}
	if keep := longestTag; len(b.tail) > 2*keep {
		b.tail = b.tail[len(b.tail)-keep:]
	}
}
