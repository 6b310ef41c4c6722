package dialect

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/server/internal/request"
)

// TestOllamaCalls: a stream has thinking, text and calls in their order, of one that breaks off
// what is whole.
func TestOllamaCalls(t *testing.T) {
	r := &request.Request{Model: "m", Created: time.Unix(1, 0)}
	o := &ollamaWriter{chat: true}
	o.start(&Input{})
	var b bytes.Buffer
	for _, e := range []request.Event{
		{First: true, Reasoning: "hm"}, {Text: "so"}, {Calls: []request.CallPart{{ID: "a", Name: "f", Arguments: `{"x":1}`}}}, {Text: "then"},
		{Calls: []request.CallPart{{Index: 1, ID: "b", Name: "g", Arguments: "{}"}, {Index: 2, ID: "c", Name: "h", Arguments: `{"y":1,"z`}}}, {End: decoder.EndMaxTokens},
	} {
		if err := o.Event(&b, r, &e); err != nil {
			t.Fatal(err)
		}
	}
	if err := o.End(&b, r); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(b.String()) {
		var l struct {
			Message json.RawMessage
			Reason  string `json:"done_reason"`
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		got = append(got, string(l.Message)+l.Reason)
	}
	want := []string{
		`{"role":"assistant","content":"","thinking":"hm"}`, `{"role":"assistant","content":"so"}`,
		`{"role":"assistant","content":"","tool_calls":[{"id":"a","function":{"index":0,"name":"f","arguments":{"x":1}}}]}`,
		`{"role":"assistant","content":"then"}`, `{"role":"assistant","content":"","tool_calls":[{"id":"b","function":{"index":1,"name":"g","arguments":{}}},{"id":"c","function":{"index":2,"name":"h","arguments":{"y":1}}}]}`,
		`{"role":"assistant","content":""}length`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
