package server

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/attn-go/attn/models/server/internal/dialect"
)

// dialectPaths are the paths of APIs other than OpenAI's first one.
var dialectPaths = []string{
	"/api/chat", "/api/generate", "/api/embed", "/api/embeddings", "/api/show", "/v1/messages", "/v1/messages/count_tokens", "/v1/responses", "/embed", "/rerank", "/v2/rerank",
	"/embed_all", "/embed_sparse", "/v1/multi-vector",
}

// dialects returns n requests of those paths, whose texts and settings differ.
func dialects(n int) (list []sent) {
	r := rand.New(rand.NewPCG(60, 4))
	words := func() string {
		all := strings.Fields("the cat sits on a mat and says why not to every dog that runs by")
		return strings.Join(all[:1+r.IntN(len(all))], " ")
	}
	turns := func(kind string) (all []map[string]any) {
		for i := range 1 + 2*r.IntN(3) {
			all = append(all, map[string]any{"role": []string{"user", "assistant"}[i%2], "content": words()})
			if kind != "" && i%2 == 0 {
				all[i]["content"] = []map[string]string{{"type": kind, "text": words()}}
			}
		}
		return all
	}
	for range n {
		path := dialectPaths[r.IntN(len(dialectPaths))]
		body := map[string]any{"model": chatModel}
		sampling := map[string]any{"temperature": []float64{0, 0.7, 1.5}[r.IntN(3)], "top_p": []float64{1, 0.9}[r.IntN(2)], "seed": r.IntN(1000)}
		most, stream := 1+r.IntN(40), r.IntN(2) == 0
		if r.IntN(4) == 0 {
			body["receipt"] = false
		}
		switch path {
		case "/api/chat", "/api/generate":
			sampling["num_predict"], sampling["repeat_penalty"] = most, 1.1
			body["options"], body["stream"] = sampling, stream
			if r.IntN(5) == 0 {
				body["format"] = json.RawMessage(`{"type": "object", "properties": {"a": {"enum": ["x", "yes"]}}, "required": ["a"]}`)
			}
			if path == "/api/chat" {
				body["messages"] = turns("")
			} else {
				body["prompt"], body["raw"] = words(), r.IntN(2) == 0
			}
		case "/api/embed":
			body = map[string]any{"model": []string{embedModel, bothModel}[r.IntN(2)], "input": []string{words(), words()}}
		case "/embed":
			body = map[string]any{"model": embedModel, "inputs": []string{words(), words()}}
		case "/embed_all", "/embed_sparse":
			of := map[string][]string{"/embed_all": {lateModel, filledModel, bothModel}, "/embed_sparse": {wordModel, bothModel}}[path]
			body = map[string]any{"model": of[r.IntN(len(of))], "inputs": []string{words(), words()}}
		case "/v1/multi-vector":
			body = map[string]any{"model": []string{lateModel, filledModel}[r.IntN(2)], "input": []string{words(), words()}, "input_type": []string{"query", "document"}[r.IntN(2)], "truncate": true}
		case "/rerank", "/v2/rerank":
			body = map[string]any{"model": []string{rankModel, lateModel, filledModel}[r.IntN(3)], "query": words(), "documents": []string{words(), words()}}
		case "/api/embeddings":
			body = map[string]any{"model": embedModel, "prompt": words()}
		case "/api/show":
			body = map[string]any{"model": []string{chatModel, embedModel, rankModel}[r.IntN(3)]}
		case "/v1/messages":
			maps.Copy(body, sampling)
			body["max_tokens"], body["stream"], body["messages"], body["system"] = most, stream, turns("text"), words()
			if r.IntN(3) == 0 {
				body["stop_sequences"] = []string{"e", "th"}
			}
		case "/v1/messages/count_tokens":
			body = map[string]any{"model": chatModel, "messages": turns("text")}
		case "/v1/responses":
			maps.Copy(body, sampling)
			body["max_output_tokens"], body["stream"], body["input"], body["store"] = most, stream, turns("input_text"), false
			if r.IntN(3) == 0 {
				body["include"], body["top_logprobs"] = []string{"message.output_text.logprobs"}, 2
			}
		}
		if r.IntN(3) == 0 {
			withTools(body, path, r.IntN(3))
		}
		data, err := json.Marshal(body)
		if err != nil {
			panic(err)
		}
		list = append(list, sent{path, string(data)})
	}
	return list
}

// withTools lets a request of a conversation have tools and thinking.
func withTools(body map[string]any, path string, most int) {
	raw := func(text string) json.RawMessage { return json.RawMessage(text) }
	switch path {
	case "/api/chat":
		body["tools"], body["think"] = raw(`[`+weather+`, `+now+`]`), most > 0
	case "/v1/messages":
		body["tools"], body["tool_choice"] = raw(`[{"name": "weather", "input_schema": `+weatherSchema+`}]`), raw(`{"type": "any"}`)
		body["thinking"] = map[string]any{"type": "enabled", "budget_tokens": most}
	case "/v1/responses":
		body["tools"], body["tool_choice"] = raw(`[{"type": "function", "name": "weather", "strict": true, "parameters": `+weatherSchema+`}]`), "required"
		body["reasoning"] = map[string]any{"max_tokens": most}
	default:
		return
	}
	body["model"] = toolModel
}

// TestDialectPaths: the mix has the paths of all dialects, so that the promise is tested with each.
func TestDialectPaths(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range slices.Concat(mix(200), dialects(200)) {
		seen[r.path] = true
	}
	for _, p := range dialect.Paths {
		// Nothing is computed for the others.
		if path, ok := strings.CutPrefix(p.Pattern, "POST "); ok && !seen[path] && !strings.HasSuffix(path, "tokenize") && !strings.HasSuffix(path, "/cancel") {
			t.Errorf("no request goes to %s", path)
		}
	}
}

// TestKeptUnderLoad: conversations that go on by previous_response_id, many at once, are those
// whose inputs have everything, one after the other.
func TestKeptUnderLoad(t *testing.T) {
	settings := fixed()
	var mu sync.Mutex
	ids := 0
	settings.NewID = func() string {
		mu.Lock()
		defer mu.Unlock()
		ids++
		return fmt.Sprint(ids)
	}
	s := newServer(t, settings)
	answer := func(body map[string]any) (a responseAnswer, err error) {
		body["model"], body["max_output_tokens"], body["temperature"] = chatModel, 12, 1.1
		data, err := json.Marshal(body)
		if err != nil {
			return a, err
		}
		w := post(s, "/v1/responses", string(data))
		if w.Code != 200 {
			return a, fmt.Errorf("status %d: %s", w.Code, w.Body)
		}
		return a, json.Unmarshal(w.Body.Bytes(), &a)
	}
	const people, turns = 12, 4
	say := func(person, turn int) string { return fmt.Sprintf("person %d says %d", person, turn) }
	var texts [people][turns]string
	var wait sync.WaitGroup
	for p := range people {
		wait.Go(func() {
			previous := ""
			for turn := range turns {
				body := map[string]any{"input": say(p, turn)}
				if turn > 0 {
					body["previous_response_id"] = previous
				}
				a, err := answer(body)
				if err != nil {
					t.Error(err)
					return
				}
				texts[p][turn], previous = a.text(), a.ID
			}
		})
	}
	wait.Wait()
	for p := range people {
		var input []map[string]string
		for turn := range turns {
			input = append(input, map[string]string{"role": "user", "content": say(p, turn)})
			a, err := answer(map[string]any{"input": input, "store": false})
			if err != nil || a.text() != texts[p][turn] {
				t.Fatalf("person %d, turn %d: %q, %v, want %q", p, turn, texts[p][turn], err, a.text())
			}
			input = append(input, map[string]string{"role": "assistant", "content": a.text()})
		}
	}
}
