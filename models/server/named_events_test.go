package server

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
)

// A namedEvent is a server-sent event with a type.
type namedEvent struct {
	Type  string
	Index int
	Data  json.RawMessage `json:"-"`

	// Of Anthropic's API.
	Message struct {
		ID, Role string
		Content  []json.RawMessage
		Usage    struct {
			Input int `json:"input_tokens"`
		}
	}
	Block struct{ Type, Text string } `json:"content_block"`

	// Of /v1/responses.
	Number   int `json:"sequence_number"`
	Response responseAnswer
	Item     responseItem
	ItemID   string `json:"item_id"`
	Output   int    `json:"output_index"`
	Text     string
	Logprobs []json.RawMessage

	Delta json.RawMessage
	Usage struct {
		Output int `json:"output_tokens"`
	}
}

// namedEvents returns the events of a stream, whose types stand before them, too.
func namedEvents(t *testing.T, w *httptest.ResponseRecorder) (list []namedEvent) {
	t.Helper()
	if w.Code != 200 || w.Header().Get("Content-Type") != "text/event-stream" {
		t.Fatalf("status %d, %v: %s", w.Code, w.Header(), w.Body)
	}
	for event := range strings.SplitSeq(strings.TrimSuffix(w.Body.String(), "\n\n"), "\n\n") {
		head, data, ok := strings.Cut(event, "\ndata: ")
		var e namedEvent
		if err := json.Unmarshal([]byte(data), &e); err != nil || !ok || head != "event: "+e.Type {
			t.Fatalf("%v: %q", err, event)
		}
		e.Data = json.RawMessage(data)
		list = append(list, e)
	}
	return list
}

// kindsOf returns the types of events, of which neighbours of one type count once.
func kindsOf(list []namedEvent) string {
	var all []string
	for _, e := range list {
		if len(all) == 0 || all[len(all)-1] != e.Type {
			all = append(all, e.Type)
		}
	}
	return strings.Join(all, " ")
}
