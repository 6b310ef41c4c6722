package server

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/attn-go/attn/models/internal/tinyllama"
	"github.com/attn-go/attn/models/receipt"
)

// A receipt of each choice is verified, whatever else the server computes, and changes nothing else of an answer.
func TestReceipts(t *testing.T) {
	file := tinyllama.New(nil)
	file.AddVocabulary()
	m, err := Load(file.Write(t), LoadOptions{Context: 400, Name: chatModel})
	if err != nil {
		t.Fatal(err)
	}
	settings := fixed()
	settings.CacheBytes = 1 // the least: texts are computed twice
	s := serverOf(t, settings, m)
	for path, body := range map[string]string{
		"/v1/completions":      `{"model": "tiny", "prompt": ["what is", "who"], "n": 2, "max_tokens": 30, "temperature": 1.2, "seed": -3, "frequency_penalty": 0.2`,
		"/v1/chat/completions": `{"model": "tiny", "messages": [{"role": "user", "content": "what?"}], "n": 3, "max_tokens": 25, "stop": ["e", "th"], "temperature": 0.8`,
	} {
		var work sync.WaitGroup
		for range 4 {
			work.Go(func() { post(s, path, body+`, "stream": true}`) })
		}
		with := post(s, path, body+`, "receipt": true}`)
		work.Wait()
		answer := answerOf[struct {
			Choices  []struct{ Text string }
			Receipts []json.RawMessage
		}](t, with)
		if len(answer.Receipts) != len(answer.Choices) || len(answer.Choices) < 3 {
			t.Fatalf("%s: %d receipts of %d choices", path, len(answer.Receipts), len(answer.Choices))
		}
		for i, data := range answer.Receipts {
			r, err := receipt.Parse(data)
			if err != nil {
				t.Fatal(err)
			}
			if err := receipt.Verify(t.Context(), receipt.Model{Name: "x", Files: m.files, Architecture: "llama"}, m.generate, r, receipt.Options{}); err != nil {
				t.Errorf("%s: choice %d: %v", path, i, err)
			}
			if path == "/v1/completions" && r.Text != answer.Choices[i].Text {
				t.Errorf("choice %d is %q, its receipt has %q", i, answer.Choices[i].Text, r.Text)
			}
		}
		whole, _, _ := strings.Cut(with.Body.String(), `,"receipts":`)
		if without := post(s, path, body+`}`).Body.String(); strings.TrimSpace(without) != whole+"}" {
			t.Errorf("%s: with receipts %s\nwithout %s", path, whole, without)
		}
	}
	unknown := newServer(t, fixed()) // whose model was opened by others
	for body, on := range map[string]*Server{
		`{"model": "tiny", "prompt": "a", "receipt": true, "stream": true}`:                                                              s,
		`{"model": "tiny", "messages": [{"role": "user", "content": "a"}], "receipt": true, "response_format": {"type": "json_object"}}`: s,
		`{"model": "tiny", "prompt": "a", "receipt": true}`:                                                                              unknown,
	} {
		path := "/v1/completions"
		if strings.Contains(body, "messages") {
			path = "/v1/chat/completions"
		}
		if w := post(on, path, body); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), `"param":"receipt"`) {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	}
}
