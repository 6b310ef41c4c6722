package dialect

import (
	"bytes"
	"testing"
)

// TestConversation: bodies that say the same from their beginning have the same first turns,
// whatever spaces they are written with, and what is no conversation has none.
func TestConversation(t *testing.T) {
	turns := func(path, body string) []byte {
		for _, p := range Paths {
			if p.Pattern == "POST "+path {
				return bytes.Join(p.Conversation([]byte(body)), []byte("|"))
			}
		}
		t.Fatalf("there is no %s", path)
		return nil
	}
	same := func(path, a, b string, want bool) {
		t.Helper()
		x, y := turns(path, a), turns(path, b)
		if len(x) == 0 || bytes.Equal(x, y[:min(len(x), len(y))]) != want {
			t.Errorf("%s: %s is %q, and %s is %q, want the same beginning: %v", path, a, x, b, y, want)
		}
	}
	for _, path := range []string{"/v1/chat/completions", "/api/chat"} {
		first := `{"model": "m", "messages": [{"content": "a"}]}`
		same(path, first, `{"messages":[{ "content":"a" },{"content":"b"}],"model":"m", "Model": "n", "MESSAGES": []}`, true)
		same(path, first, `{"model": "n", "messages": [{"content": "a"}]}`, false)
		same(path, first, `{"model": "m", "messages": [{"content": "c"}]}`, false)
		same(path, first, `{"model": "m", "tools": [{}], "messages": [{"content": "a"}]}`, false)
		for _, body := range []string{"", "{", `{"messages": 1}`, `{"model": "m"}`, `[]`, `{"model": "m", "Messages": [{"content": "a"}]}`} {
			if list := turns(path, body); len(list) > 0 {
				t.Errorf("%s: %q has the turns %q", path, body, list)
			}
		}
	}
	if list := turns("/v1/embeddings", `{"model": "m", "messages": [{}]}`); len(list) > 0 {
		t.Errorf("an embedding has the turns %q", list)
	}
}
