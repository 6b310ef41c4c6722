package request

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/attn-go/attn/models/answer"
	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/decoder"
	_ "github.com/attn-go/attn/models/internal/refs" // the flag -refs
)

// token returns a token of a text.
func token(id int32, text string, end decoder.End) decoder.Token {
	return decoder.Token{ID: id, Text: text, End: end}
}

// drain returns the events of a request as texts, and the error that ends them.
func drain(r *Request) (list []string, err error) {
	for {
		e, err := r.Next(context.Background())
		if e == nil || err != nil {
			return list, err
		}
		list = append(list, fmt.Sprintf("%d %t %t %q %d %d %v", e.Choice, e.First, e.Prompt, e.Text, e.Offset, len(e.Tokens), e.End))
		r.Collect(e)
	}
}

// TestTurns: choices take turns whatever comes first, begin with their prompt if that is wanted,
// and are whole in the end.
func TestTurns(t *testing.T) {
	w := &Generate{Choices: 1, Echo: true, Echoed: []Echoed{{Text: "ä:", Tokens: make([]decoder.Token, 3)}, {Text: "b:"}}}
	w.Options.Logprobs = true
	r := &Request{Work: w}
	a, b := r.Begin(), r.Begin()
	for _, text := range []string{"x", "y"} {
		b.Add(token(7, text, decoder.EndNone))
	}
	b.Add(token(2, "", decoder.EndToken))
	b.Finish(nil)
	a.Add(token(5, "é", decoder.EndMaxTokens))
	a.Finish(nil)
	got, err := drain(r)
	want := []string{
		`0 true true "ä:" 0 3 going`, `0 false false "é" 2 1 max tokens`,
		`1 true true "b:" 0 0 going`, `1 false false "x" 2 1 going`, `1 false false "y" 3 1 going`, `1 false false "" 4 1 stop token`,
	}
	if err != nil || !slices.Equal(got, want) || r.Made != 4 {
		t.Errorf("%v, %d tokens: %q, want %q", err, r.Made, got, want)
	}
	if all := r.Whole(); all[0].Text != "ä:é" || len(all[0].Tokens) != 4 || all[1].Text != "b:xy" || all[1].End != decoder.EndToken || !all[1].Prompt {
		t.Errorf("%+v, %+v", all[0], all[1])
	}
}

// TestQuiet: a prompt alone has no token of an answer, also if one was made.
func TestQuiet(t *testing.T) {
	r := &Request{Work: &Generate{Choices: 1, Echo: true, Quiet: true, Echoed: []Echoed{{Text: "a"}}}}
	r.Begin().Add(token(5, "b", decoder.EndContext))
	got, err := drain(r)
	if want := []string{`0 true true "a" 0 0 going`, `0 false false "" 1 0 max tokens`}; err != nil || !slices.Equal(got, want) || r.Made != 0 {
		t.Errorf("%v, %d tokens: %q, want %q", err, r.Made, got, want)
	}
}

// TestEnds: what was added comes before an error, an end without a reason is one, and nobody waits
// longer than ctx.
func TestEnds(t *testing.T) {
	bad := errors.New("bad")
	for _, end := range []error{bad, nil} {
		r := &Request{Work: &Generate{Choices: 1}}
		c := r.Begin()
		c.Add(token(5, "a", decoder.EndNone))
		c.Finish(end)
		if got, err := drain(r); len(got) != 1 || end == bad && err != bad || err == nil {
			t.Errorf("%q, %v", got, err)
		}
	}
	r := &Request{Work: &Generate{Choices: 1}}
	r.Begin()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestClose: what a request holds is given back once.
func TestClose(t *testing.T) {
	r, n := &Request{}, 0
	r.OnClose(func() { n++ })
	r.Close()
	r.Close()
	if n != 1 {
		t.Errorf("given back %d times", n)
	}
}

// TestCallIDs: each call has an id of its own, whatever the model writes.
func TestCallIDs(t *testing.T) {
	template, err := chattemplate.New("{{ tools }}[TOOL_CALLS]")
	if err != nil {
		t.Fatal(err)
	}
	w := &Generate{Choices: 1, CallID: func(choice, call int) string { return fmt.Sprint("own", choice, call) }}
	w.Conversation = &chattemplate.Conversation{Messages: []chattemplate.Message{{Role: "assistant", Calls: []chattemplate.ToolCall{{ID: "old"}}}}}
	w.Parser = func() *answer.Parser {
		return answer.Of(template).Parser(answer.Asked{Tools: []chattemplate.Tool{{Name: "f"}}})
	}
	r := &Request{Work: w}
	c := r.Begin()
	for _, id := range []string{"a", "a", "old", "", "b"} {
		c.Add(token(1, `[TOOL_CALLS][{"name": "f", "arguments": {}, "id": "`+id+`"}]`, decoder.EndNone))
	}
	c.Add(token(2, "", decoder.EndToken))
	if _, err := drain(r); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, call := range r.Whole()[0].Calls {
		ids = append(ids, call.ID)
	}
	if want := []string{"a", "own0 1", "own0 2", "own0 3", "b"}; !slices.Equal(ids, want) {
		t.Errorf("got %q, want %q", ids, want)
	}
}
