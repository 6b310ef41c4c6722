package server

import (
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/internal/tinyllama"
	"github.com/attn-go/attn/models/receipt"
)

// A receipt of each choice is verified, whatever else the server computes, and changes nothing else
// of an answer.
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
			if err := receipt.Verify(t.Context(), receipt.Model{Name: "x", Files: m.files, Architecture: "llama"}, generateOf(m), r, receipt.Options{}); err != nil {
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
	for _, path := range []string{"/v1/completions", "/v1/chat/completions"} {
		body := `{"model": "tiny", "prompt": "a", "receipt": true}`
		if strings.Contains(path, "chat") {
			body = `{"model": "tiny", "messages": [{"role": "user", "content": "a"}], "receipt": true}`
		}
		if w := post(unknown, path, body); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), `"param":"receipt"`) {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// signer is the key of servers that sign.
var signer = ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))

// The last event of a stream has the receipts that the whole answer has, also with a grammar, and
// they are signed.
func TestReceiptsOfStreams(t *testing.T) {
	file := tinyllama.New(nil)
	file.AddVocabulary()
	m, err := Load(file.Write(t), LoadOptions{Context: 400, Name: chatModel})
	if err != nil {
		t.Fatal(err)
	}
	settings := fixed()
	settings.ReceiptKey = signer
	s := serverOf(t, settings, m)
	for _, more := range []string{
		``,
		`, "stream_options": {"include_usage": true}`,
		`, "response_format": {"type": "json_schema", "json_schema": {"schema": {"type": "object", "properties": {"a": {"enum": ["x", "yes"]}}, "required": ["a"]}}}`,
	} {
		body := `{"model": "tiny", "messages": [{"role": "user", "content": "who?"}], "n": 2, "max_tokens": 30, "temperature": 1, "receipt": true`
		type event struct {
			Choices  []json.RawMessage
			Usage    json.RawMessage
			Receipts json.RawMessage
		}
		whole := answerOf[event](t, post(s, "/v1/chat/completions", body+strings.Replace(more, "stream_options", "metadata", 1)+`}`))
		parts := strings.Split(strings.TrimSpace(post(s, "/v1/chat/completions", body+more+`, "stream": true}`).Body.String()), "\n\n")
		if n := len(parts); n < 4 || parts[n-1] != "data: [DONE]" {
			t.Fatalf("%q", parts)
		}
		var last event
		for i, part := range parts[:len(parts)-1] {
			last = event{}
			if err := json.Unmarshal([]byte(strings.TrimPrefix(part, "data: ")), &last); err != nil {
				t.Fatal(err)
			}
			if (len(last.Choices) == 0) != (i == len(parts)-2) || len(last.Choices) > 0 && last.Receipts != nil {
				t.Errorf("event %d of %d: %s", i, len(parts), part)
			}
		}
		if string(last.Receipts) != string(whole.Receipts) || strings.Contains(more, "usage") && string(last.Usage) != string(whole.Usage) {
			t.Errorf("the last event has %s %s, the whole answer %s %s", last.Usage, last.Receipts, whole.Usage, whole.Receipts)
		}
		var all []json.RawMessage
		if err := json.Unmarshal(last.Receipts, &all); err != nil || len(all) != 2 {
			t.Fatalf("%d receipts, %v", len(all), err)
		}
		for i, data := range all {
			r, err := receipt.Parse(data)
			if err != nil {
				t.Fatal(err)
			}
			if (r.Grammar != nil) != strings.Contains(more, "response_format") {
				t.Errorf("the grammar of receipt %d is %v", i, r.Grammar)
			}
			if err := errors.Join(r.CheckKey(signer.Public().(ed25519.PublicKey)), receipt.Verify(t.Context(), r.Model, generateOf(m), r, receipt.Options{})); err != nil {
				t.Errorf("receipt %d: %v", i, err)
			}
		}
	}
	settings.ReceiptKey = signer[:3]
	if _, err := New(settings, m); !errors.As(err, new(*kernel.Error)) {
		t.Errorf("a short key: %v", err)
	}
}

// The other APIs have receipts at the end of an answer, whole and streamed.
func TestReceiptsOfDialects(t *testing.T) {
	file := tinyllama.New(nil)
	file.AddVocabulary()
	m, err := Load(file.Write(t), LoadOptions{Context: 400, Name: chatModel})
	if err != nil {
		t.Fatal(err)
	}
	s := serverOf(t, fixed(), m)
	const messages = `"messages": [{"role": "user", "content": "who?"}], "receipt": true`
	for path, body := range map[string]string{
		"/v1/messages":  `"max_tokens": 20, "temperature": 1, ` + messages,
		"/v1/responses": `"max_output_tokens": 20, "temperature": 1, "input": "who?", "receipt": true`,
		"/api/chat":     `"options": {"num_predict": 20, "temperature": 1}, ` + messages,
		"/api/generate": `"options": {"num_predict": 20, "temperature": 1}, "prompt": "who?", "receipt": true`,
	} {
		var seen []string
		for _, stream := range []string{"true", "false"} {
			w := post(s, path, `{"model": "tiny", "stream": `+stream+`, `+body+`}`)
			_, rest, ok := strings.Cut(w.Body.String(), `"receipts":[`)
			if !ok || strings.Contains(rest, `"receipts"`) {
				t.Fatalf("%s, stream %s: status %d, %s", path, stream, w.Code, w.Body)
			}
			var data json.RawMessage
			if err := json.NewDecoder(strings.NewReader(rest)).Decode(&data); err != nil {
				t.Fatal(err)
			}
			r, err := receipt.Parse(data)
			if err != nil {
				t.Fatal(err)
			}
			if err := receipt.Verify(t.Context(), r.Model, generateOf(m), r, receipt.Options{}); err != nil {
				t.Errorf("%s, stream %s: %v", path, stream, err)
			}
			seen = append(seen, string(data))
		}
		if seen[0] != seen[1] {
			t.Errorf("%s: a stream has another receipt", path)
		}
	}
}

// Vectors and ranks have a receipt, whatever else of the answer a request asks for, or an error
// says why not.
func TestReceiptsOfTexts(t *testing.T) {
	open := func(name string) *Model {
		m, err := Load("../testdata/tiny/"+name, LoadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	embedder, reranker := open("bert-1"), open("reranker-bert-1")
	settings := fixed()
	settings.ReceiptKey = signer
	s := serverOf(t, settings, embedder, reranker)
	type answer struct{ Receipt json.RawMessage }
	of := func(path, body string) *receipt.Receipt {
		with := answerOf[answer](t, post(s, path, body+`, "receipt": true}`))
		if without := answerOf[answer](t, post(s, path, body+`}`)); without.Receipt != nil {
			t.Errorf("%s: a receipt that is not wanted", path)
		}
		r, err := receipt.Parse(with.Receipt)
		if err == nil {
			err = r.CheckKey(signer.Public().(ed25519.PublicKey))
		}
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	const texts = `["a cat", "", "a \ud800 mat <>", "` + "the cat sat on a mat " + `"]`
	r := of("/v1/embeddings", `{"model": "bert-1", "encoding_format": "base64", "dimensions": 5, "input": `+texts)
	if err := receipt.VerifyEmbeddings(t.Context(), r.Model, embedOf(embedder), r, receipt.Options{}); err != nil || r.Embeddings.Settings.Dimensions != 5 || len(r.Embeddings.Texts) != 4 {
		t.Errorf("%v: %+v", err, r.Embeddings)
	}
	r = of("/v1/rerank", `{"model": "reranker-bert-1", "query": "which mat?", "top_n": 1, "documents": `+texts)
	if err := receipt.VerifyRanking(t.Context(), r.Model, rerankOf(reranker), r, receipt.Options{}); err != nil || len(r.Ranking.Passages) != 4 {
		t.Errorf("%v: %+v", err, r.Ranking)
	}
	if w := post(s, "/v1/embeddings", `{"model": "bert-1", "input": [1, 2], "receipt": true}`); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), `"param":"receipt"`) {
		t.Errorf("tokens: %d %s", w.Code, w.Body)
	}
}

// TestReceiptsOfTools: every turn of a session with tools, thinking and a budget has a receipt that
// is verified, and what is forged of any of them is found.
func TestReceiptsOfTools(t *testing.T) {
	file := tinyllama.New(nil)
	file.AddVocabulary()
	file.AddTools()
	m, err := Load(file.Write(t), LoadOptions{Context: 400, Name: toolModel})
	if err != nil {
		t.Fatal(err)
	}
	s := serverOf(t, fixed(), m)
	messages := `{"role": "user", "content": "what?"}`
	for turn := range 3 {
		choice := []string{`"required"`, `"auto"`, `{"type": "function", "function": {"name": "weather"}}`}[turn]
		body := `{"model": "tools", "messages": [` + messages + `], "tools": [` + weather + `, ` + now + `], "tool_choice": ` + choice + `,
			"parallel_tool_calls": false, "chat_template_kwargs": {"enable_thinking": true, "x": 1.0}, "thinking_token_budget": 5, "max_tokens": 90, "temperature": 1, "receipt": true}`
		answer := answerOf[struct {
			Choices  []struct{ Message json.RawMessage }
			Receipts []json.RawMessage
		}](t, post(s, "/v1/chat/completions", body))
		r, err := receipt.Parse(answer.Receipts[0])
		if err != nil {
			t.Fatal(err)
		}
		verify := func(r *receipt.Receipt) error {
			return receipt.Verify(t.Context(), receipt.Model{Name: "x", Files: m.files, Architecture: "llama"}, generateOf(m), r, receipt.Options{})
		}
		if err := verify(r); err != nil {
			t.Errorf("turn %d: %v", turn, err)
		}
		if len(r.Tools) != 2 || r.Budget == nil || r.Grammar == nil || len(r.Variables) != 2 || len(r.Messages) != 1+2*turn {
			t.Errorf("turn %d: %s", turn, answer.Receipts[0])
		}
		for name, forge := range map[string]func(r *receipt.Receipt){
			"tools": func(r *receipt.Receipt) { r.Tools[0].Name = "x" }, "budget": func(r *receipt.Receipt) { r.Budget.Tokens = 2 },
			"variables": func(r *receipt.Receipt) { r.Variables["enable_thinking"] = json.RawMessage("false") },
		} {
			forged, err := receipt.Parse(answer.Receipts[0])
			if err != nil {
				t.Fatal(err)
			}
			if forge(forged); !errors.Is(verify(forged), receipt.ErrMismatch) {
				t.Errorf("turn %d: other %s are not found", turn, name)
			}
		}
		messages += `, ` + string(answer.Choices[0].Message) + `, {"role": "user", "content": "and?"}`
	}
}
