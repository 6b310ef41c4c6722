package relay

import (
	"fmt"
	"testing"

	"github.com/attn-go/attn/models/server"
)

// TestAffinity: the worker of a conversation is the one that has answered the most of its turns.
// The oldest conversations are forgotten.
func TestAffinity(t *testing.T) {
	a := newAffinity()
	chat := func(turns ...string) []uint64 {
		var all [][]byte
		for _, turn := range turns {
			all = append(all, []byte(turn))
		}
		return a.conversation(&server.Call{Conversation: all})
	}
	check := func(what string, conversation []uint64, want string) {
		t.Helper()
		if got := a.worker(conversation); got != want {
			t.Errorf("%s goes to %q, want %q", what, got, want)
		}
	}
	a.remember(chat("a"), "x")
	a.remember(chat("a", "b"), "y")
	check("what follows the second message", chat("a", "b", "c"), "y")
	check("what follows the first one", chat("a", "c"), "x")
	check("another conversation", chat("b"), "")
	check("none", chat(), "")
	a.remember(chat("a"), "z")
	check("a conversation that another worker has answered since", chat("a"), "z")
	a.remember(nil, "x")
	for i := range remembered - 1 { // and one from above is left
		a.remember([]uint64{uint64(i)}, fmt.Sprint(i))
	}
	check("the oldest conversation", chat("a"), "")
	check("the next one", chat("a", "b"), "y")
	check("the last one", []uint64{remembered - 2}, fmt.Sprint(remembered-2))
	if len(a.workers) != remembered || len(a.order) != remembered {
		t.Errorf("%d conversations in %d places, want %d", len(a.workers), len(a.order), remembered)
	}
}
