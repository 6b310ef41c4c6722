package relay

import (
	"fmt"
	"testing"

	"github.com/attn-go/attn/models/server"
)

// TestAffinity: the worker of a conversation is the one that has answered the most of its messages, whatever spaces they are written with, and
// nothing else has one. The oldest conversations are forgotten.
func TestAffinity(t *testing.T) {
	a := newAffinity()
	hashes := func(path, body string) []uint64 { return a.conversation(&server.Call{Path: path, Body: []byte(body)}) }
	chat := func(body string) []uint64 { return hashes("/v1/chat/completions", body) }
	check := func(what string, conversation []uint64, want string) {
		t.Helper()
		if got := a.worker(conversation); got != want {
			t.Errorf("%s goes to %q, want %q", what, got, want)
		}
	}
	a.remember(chat(`{"model": "m", "messages": [{"content": "a"}]}`), "x")
	a.remember(chat(`{"model": "m", "messages": [{"content": "a"}, {"content": "b"}]}`), "y")
	check("what follows the second message", chat(`{"messages":[{"content":"a"},{"content":"b"},{"content":"c"}],"model":"m"}`), "y")
	check("what follows the first one", chat(`{"model": "m", "messages": [{"content": "a"}, {"content": "c"}]}`), "x")
	check("another conversation", chat(`{"model": "m", "messages": [{"content": "b"}]}`), "")
	check("one with another model", chat(`{"model": "n", "messages": [{"content": "a"}]}`), "")
	a.remember(chat(`{"model": "m", "messages": [{"content": "a"}]}`), "z")
	check("a conversation that another worker has answered since", chat(`{"model": "m", "messages": [{"content": "a"}]}`), "z")
	check("one with other names for the messages and the model", chat(`{"model": "m", "messages": [{"content": "a"}], "Model": "n", "MESSAGES": []}`), "z")
	for _, body := range []string{"", "{", `{"messages": 1}`, `{"model": "m"}`, `[]`, `{"model": "m", "Messages": [{"content": "a"}]}`} {
		if h := chat(body); len(h) > 0 {
			t.Errorf("%q has the hashes %x", body, h)
		}
	}
	if h := hashes("/v1/embeddings", `{"model": "m", "messages": [{}]}`); len(h) > 0 {
		t.Errorf("an embedding has the hashes %x", h)
	}
	a.remember(nil, "x")
	for i := range remembered - 1 { // and one of those above is left
		a.remember([]uint64{uint64(i)}, fmt.Sprint(i))
	}
	check("the oldest conversation", chat(`{"model": "m", "messages": [{"content": "a"}]}`), "")
	check("the next one", chat(`{"model": "m", "messages": [{"content": "a"}, {"content": "b"}]}`), "y")
	check("the last one", []uint64{remembered - 2}, fmt.Sprint(remembered-2))
	if len(a.workers) != remembered || len(a.order) != remembered {
		t.Errorf("%d conversations in %d places, want %d", len(a.workers), len(a.order), remembered)
	}
}
