package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/server/internal/dialect"
	"github.com/attn-go/attn/models/server/internal/fields"
	"github.com/attn-go/attn/models/server/internal/request"
)

// lines is a dialect of another form than OpenAI's: what a body is, how errors look and what a
// stream is are its own.
type lines struct{ prompt string }

func (l *lines) Read(in *dialect.Input) (*request.Request, error) {
	var q struct {
		Name   string `json:"name"`
		Say    string `json:"say"`
		Stream bool   `json:"stream"`
	}
	if err := fields.Decode(in.Body, &q, in.Unknown); err != nil {
		return nil, err
	}
	l.prompt = q.Say
	w := &request.Generate{Choices: 2, Options: decoder.GenerateOptions{MaxTokens: 9, Sampler: in.Sampler}}
	w.Conversation = &chattemplate.Conversation{Messages: []chattemplate.Message{{Role: "user", Content: q.Say}}, Date: in.Date}
	return &request.Request{Model: q.Name, Stream: q.Stream, Work: w}, nil
}

func (l *lines) Whole(r *request.Request) any {
	all := []string{l.prompt, r.ID}
	for _, e := range r.Whole() {
		all = append(all, fmt.Sprint(e.Choice, e.Text, e.End))
	}
	return all
}

func (*lines) Stream() string { return "application/x-ndjson" }

func (*lines) Event(b *bytes.Buffer, _ *request.Request, e *request.Event) error {
	fmt.Fprintf(b, "%d %v %q %d %v\n", e.Choice, e.First, e.Text, e.Offset, e.End)
	return nil
}

func (*lines) End(b *bytes.Buffer, r *request.Request) error {
	fmt.Fprintf(b, "%d %d\n", r.Prompt, r.Made)
	return nil
}

func (*lines) Fail(f *dialect.Failure) []byte  { return fmt.Appendf(nil, "%q", f.Message) }
func (*lines) Break(f *dialect.Failure) []byte { return []byte(f.Message + "\n") }

// TestDialect: an API is one type, whose answers, streams and errors are all of its own.
func TestDialect(t *testing.T) {
	s := newServer(t, fixed())
	path := dialect.Path{Pattern: "POST /lines", New: func() dialect.Dialect { return &lines{} }}
	s.mux.Handle(path.Pattern, s.answering(path))
	whole := answerOf[[]string](t, post(s, "/lines", `{"name": "tiny", "say": "what?"}`))
	if len(whole) != 4 || whole[0] != "what?" || whole[1] != "ID" {
		t.Fatalf("%q", whole)
	}
	w := post(s, "/lines", `{"name": "tiny", "say": "what?", "stream": true}`)
	if kind := w.Header().Get("Content-Type"); kind != "application/x-ndjson" {
		t.Errorf("a stream is %s", kind)
	}
	checkLines(t, w, whole[2:])
	for body, want := range map[string]string{
		`{"name": "tiny", "say": 1}`: "say: got number, want string", `{"name": "bert-1"}`: `"bert-1" is a model of embeddings, want a language model`, `{"name": "x"}`: `there is no model "x": want "tiny"`,
	} {
		var got string
		if w := post(s, "/lines", body); json.Unmarshal(w.Body.Bytes(), &got) != nil || w.Code/100 != 4 || got != want {
			t.Errorf("%s: status %d, %s, want %q", body, w.Code, w.Body, want)
		}
	}
}

// checkLines: the events of a stream are in order, and are the whole texts together.
func checkLines(t *testing.T, w *httptest.ResponseRecorder, whole []string) {
	t.Helper()
	list := strings.Split(strings.TrimSuffix(w.Body.String(), "\n"), "\n")
	texts, ends, last := make([]string, 2), make([]string, 2), 1
	for _, line := range list[:len(list)-1] {
		var choice, offset int
		var first bool
		var text string
		n, err := fmt.Sscanf(line, "%d %t %q %d", &choice, &first, &text, &offset)
		if n != 4 || offset != len(texts[choice]) || first != (ends[choice] == "") || choice == last && ends[1-choice] == "going" {
			t.Fatalf("%q after %q: %v", line, texts, err)
		}
		texts[choice], last = texts[choice]+text, choice
		_, ends[choice], _ = strings.Cut(line, fmt.Sprintf("%q %d ", text, offset))
	}
	for i, text := range texts {
		if want := fmt.Sprint(i, text, ends[i]); whole[i] != want {
			t.Errorf("choice %d of the stream is %q, want %q", i, want, whole[i])
		}
	}
}
