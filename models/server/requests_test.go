package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/reranking"
	"github.com/attn-go/attn/models/server/internal/dialect"
)

const hi = `"messages": [{"role": "user", "content": "hi"}], "max_tokens": 3`

// TestReported: bodies that clients send are answered as they are elsewhere.
func TestReported(t *testing.T) {
	s := newServer(t, fixed())
	plain := post(s, "/v1/chat/completions", `{"model": "tiny", `+hi+`}`).Body.String()
	for _, body := range []string{
		`"messages": [{"role": "user", "content": "hi", "id": 1, "opts": {"visible": true}}], "max_tokens": 3`,
		`"messages": [{"role": "user", "content": [{"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}], "name": "x"}], "max_tokens": 3`,
		hi + `, "reasoning_effort": "low"`,
		hi + `, "verbosity": "low", "store": true, "metadata": {"a": "b"}, "service_tier": "auto", "user": "u", "parallel_tool_calls": true`,
		hi + `, "chat_template_kwargs": {"enable_thinking": false, "list": [1]}`,
		hi + `, "stream_options": {"include_usage": true}`,
		hi + `, "n": 1, "best_of": 1, "frequency_penalty": 0, "presence_penalty": 0.0, "repetition_penalty": 1, "logit_bias": {}, "stop": [], "seed": 1`,
		hi + `, "tools": [], "tool_choice": "auto", "functions": null, "modalities": ["text"], "logprobs": false, "top_logprobs": 0, "response_format": {"type": "text"}`,
		hi + `, "typical_p": 1.0, "mirostat": 0, "mirostat_tau": 5.0, "min_tokens": 0, "skip_special_tokens": true, "use_beam_search": false, "cache_prompt": true, "samplers": []`,
		`"messages": [{"role": "user", "content": "hi"}], "max_tokens": 3.0`,
		`"messages": [{"role": "user", "content": "hi"}], "max_completion_tokens": 3, "max_tokens": 9`,
		`"messages": [{"role": "user", "content": "hi"}], "n_predict": 3`,
		hi + `, "whatever": {"nobody": ["knows"]}, "Temperature": 2, "MODEL": "none"`,
		hi + `, "max_tokens": 9, "max_tokens": 3`, // of two the last counts
	} {
		if w := post(s, "/v1/chat/completions", `{"model": "tiny", `+body+`}`); w.Code != 200 || w.Body.String() != plain {
			t.Errorf("%s: status %d, %s, want %s", body, w.Code, w.Body, plain)
		}
	}
	unlimited := answerOf[chatAnswer](t, post(s, "/v1/chat/completions", `{"model": "tiny", "messages": [{"role": "user", "content": "x"}], "max_tokens": -1, "ignore_eos": true}`))
	if u := unlimited.Usage; u.Total != 401 || *unlimited.Choices[0].Reason != "length" {
		t.Errorf("max_tokens -1: %+v, want all of the context", u)
	}
	if a, b := post(s, "/v1/completions", `{"model": "tiny", "prompt": "x", "top_k": -1, "temperature": 1}`), post(s, "/v1/completions", `{"model": "tiny", "prompt": "x", "top_k": 0, "temperature": 1}`); a.Body.String() != b.Body.String() {
		t.Errorf("top_k -1: %s, want %s", a.Body, b.Body)
	}
}

// TestRefused: what would change the answer and cannot be done is an error that names the field, at
// every path.
func TestRefused(t *testing.T) {
	s := newServer(t, fixed())
	for path, bodies := range map[string][]string{
		"/v1/chat/completions": {
			`"tool_choice": "required"`, `"functions": [{}]`, `"logit_bias": {"5": 101}`, `"audio": {}`, `"modalities": ["text", "audio"]`, `"web_search_options": {}`,
			`"best_of": 2`, `"use_beam_search": true`, `"min_tokens": 2`, `"typical_p": 0.5`, `"mirostat": 2`, `"dry_multiplier": 0.8`, `"xtc_probability": 0.5`, `"guided_regex": "a"`, `"documents": [{}]`,
			`"add_generation_prompt": false`, `"continue_final_message": true`, `"skip_special_tokens": false`, `"prompt_logprobs": 1`, `"echo": true`, `"chat_template": "x"`, `"truncate_prompt_tokens": 5`,
			`"options": {"temperature": 1}`, `"extra_body": {"top_k": 1}`, `"max_new_tokens": 5`, `"random_seed": 1`, `"thinking": {"type": "maybe"}`, `"prompt": "x"`, `"stop_token_ids": [999]`,
			`"temperature": 0.0001`, `"top_p": 1.5`, `"top_k": -2`, `"min_p": 2`, `"max_tokens": -2`, `"max_completion_tokens": 0`, `"seed": 1.5`, `"frequency_penalty": 101`,
			`"grammar": "root ::= ["`, `"json_schema": {"type": 3}`, `"chat_template_kwargs": {"messages": 1}`,
		},
		"/v1/completions": {`"suffix": "x"`, `"top_logprobs": 2`, `"messages": [{}]`, `"add_special_tokens": false`, `"prompt_embeds": "x"`, `"logprobs": 6`, `"logprobs": true`},
		"/v1/embeddings":  {`"normalize": true`, `"task": "retrieval"`, `"output_dimension": 5`, `"truncate_prompt_tokens": 5`, `"late_chunking": true`, `"dimensions": 1.5`},
		"/v1/rerank":      {`"truncate_prompt_tokens": 5`, `"max_tokens_per_doc": 5`, `"rank_fields": ["title"]`, `"top_n": -2`, `"truncation_direction": "Left"`, `"instruction": "x"`, `"texts": ["x"]`},
		"/tokenize":       {`"with_pieces": true`, `"messages": [{}]`},
		"/detokenize":     {`"skip_special_tokens": true`},
	} {
		rest := map[string]string{
			"/v1/chat/completions": `"model": "tiny", ` + hi, "/v1/completions": `"model": "tiny", "prompt": "x"`, "/v1/embeddings": `"model": "bert-1", "input": "x"`,
			"/v1/rerank": `"model": "reranker-bert-1", "query": "a", "documents": ["b"]`, "/tokenize": `"model": "tiny", "content": "x"`, "/detokenize": `"model": "tiny", "tokens": [5]`,
		}[path]
		if w := post(s, path, `{`+rest+`}`); w.Code != 200 {
			t.Errorf("%s: status %d, %s", path, w.Code, w.Body)
		}
		for _, body := range bodies {
			name, _, _ := strings.Cut(strings.TrimPrefix(body, `"`), `"`)
			var e struct{ Error dialect.Failure }
			w := post(s, path, `{`+rest+`, `+body+`}`)
			if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || w.Code != 400 || e.Error.Param == nil || *e.Error.Param != name || !strings.Contains(e.Error.Message, name) || !strings.Contains(e.Error.Message, "want") && name != "grammar" && name != "json_schema" {
				t.Errorf("%s %s: status %d, %s, want an error of %q", path, body, w.Code, w.Body, name)
			}
		}
	}
}

// TestUnknownIsNamed: the log names a field that is ignored once, and not more of them than memory
// is meant for.
func TestUnknownIsNamed(t *testing.T) {
	var log bytes.Buffer
	settings := fixed()
	settings.Logger = slog.New(slog.NewTextHandler(&log, nil))
	s := newServer(t, settings)
	for range 3 {
		post(s, "/tokenize", `{"model": "tiny", "content": "a", "temprature": 1, "`+strings.Repeat("long", 100)+`": 1, "user": 1}`)
		post(s, "/v1/chat/completions", `{"model": "tiny", "messages": [{"role": "user", "content": "x", "id": 1}, {"role": "user", "content": "x", "id": 2}], "max_tokens": 1}`)
	}
	for _, want := range []string{"field=temprature", "field=messages[].id", "field=" + strings.Repeat("long", 16) + "..."} {
		if n := strings.Count(log.String(), want); n != 1 {
			t.Errorf("the log has %q %d times:\n%s", want, n, &log)
		}
	}
	if n := strings.Count(log.String(), "is ignored"); n != 3 {
		t.Errorf("the log has %d fields that are ignored, want 3:\n%s", n, &log)
	}
	for i := range 2 * mostNoted {
		post(s, "/tokenize", fmt.Sprintf(`{"model": "tiny", "content": "a", "x%d": 1}`, i))
	}
	if n := strings.Count(log.String(), "is ignored"); n != mostNoted || len(s.noted.names) != mostNoted || strings.Count(log.String(), "no more fields") != 1 {
		t.Errorf("the log has %d fields that are ignored, memory %d, want %d", n, len(s.noted.names), mostNoted)
	}
}

type completionLogprobs struct {
	Tokens   []string
	Logprobs []*float32           `json:"token_logprobs"`
	Top      []map[string]float32 `json:"top_logprobs"`
	Offsets  []int                `json:"text_offset"`
}

// completionAnswer is an answer of /v1/completions with logarithms.
type completionAnswer struct {
	Choices []struct {
		Index    int
		Text     string
		Logprobs *completionLogprobs
		Reason   *string `json:"finish_reason"`
	}
	Usage *tokenUsage
}

// TestEcho: an answer that begins with its prompt has the logarithms of the prompt's tokens, from
// the model's own logits, for prompts of any length, several choices, streams, and without an
// answer.
func TestEcho(t *testing.T) {
	models := tinyModels(t, kernel.Exec{Threads: 1}, 16)
	s := serverOf(t, fixed(), models...)
	m := generateOf(models[0])
	text := strings.Repeat("the cat sits on a mat, ", 12)
	ids, err := m.Encode(text, true)
	if err != nil || len(ids) < 2*64 {
		t.Fatal(err, len(ids))
	}
	session, err := m.NewSession(1, 0)
	if err != nil {
		t.Fatal(err)
	}
	logits, err := session.Forward(t.Context(), decoder.Step{Text: session.NewText(), Tokens: ids, Logits: decoder.LogitsAll})
	if err != nil {
		t.Fatal(err)
	}
	c, err := m.Continue(decoder.GenerateOptions{Logprobs: true, TopLogprobs: 1})
	if err != nil {
		t.Fatal(err)
	}
	vocab := m.Config().Vocab
	list, _ := json.Marshal(ids)
	plain := answerOf[completionAnswer](t, post(s, "/v1/completions", `{"model": "tiny", "prompt": `+string(list)+`, "max_tokens": 4, "logprobs": 1, "n": 2, "temperature": 1}`))
	for _, prompt := range []string{fmt.Sprintf("%q", text), string(list)} {
		a := answerOf[completionAnswer](t, post(s, "/v1/completions", `{"model": "tiny", "prompt": `+prompt+`, "max_tokens": 4, "echo": true, "logprobs": 1, "n": 2, "temperature": 1}`))
		for i, choice := range a.Choices {
			l := choice.Logprobs
			if choice.Text != text+plain.Choices[i].Text || len(l.Tokens) != len(ids)+len(plain.Choices[i].Logprobs.Tokens) || l.Logprobs[0] != nil || l.Top[0] != nil {
				t.Fatalf("choice %d: %q, %d tokens, the first with %v", i, choice.Text, len(l.Tokens), l.Logprobs[0])
			}
			for at := 1; at < len(ids); at++ {
				want, err := c.Score(logits[0][(at-1)*vocab:][:vocab], ids[at])
				if err != nil {
					t.Fatal(err)
				}
				best := slices.Collect(maps.Values(l.Top[at]))
				if *l.Logprobs[at] != want.Logprob || len(best) != 1 || best[0] != want.Top[0].Logprob {
					t.Fatalf("choice %d, token %d: %v, %v, want %+v", i, at, *l.Logprobs[at], best, want)
				}
				if !strings.HasPrefix(text[l.Offsets[at]:], l.Tokens[at]) {
					t.Fatalf("token %d is %q at %d", at, l.Tokens[at], l.Offsets[at])
				}
			}
			for k, token := range plain.Choices[i].Logprobs.Tokens {
				if l.Tokens[len(ids)+k] != token || *l.Logprobs[len(ids)+k] != *plain.Choices[i].Logprobs.Logprobs[k] {
					t.Errorf("choice %d: token %d of the answer differs", i, k)
				}
			}
		}
		var streamed [2]completionLogprobs
		texts := [2]string{}
		events := events(t, post(s, "/v1/completions", `{"model": "tiny", "prompt": `+prompt+`, "max_tokens": 4, "echo": true, "logprobs": 1, "n": 2, "temperature": 1, "stream": true}`).Body)
		for _, event := range events[:len(events)-1] {
			var e completionAnswer
			if err := json.Unmarshal([]byte(event), &e); err != nil {
				t.Fatal(err)
			}
			for _, c := range e.Choices {
				if texts[c.Index] += c.Text; c.Logprobs != nil {
					streamed[c.Index].Tokens = append(streamed[c.Index].Tokens, c.Logprobs.Tokens...)
					streamed[c.Index].Offsets = append(streamed[c.Index].Offsets, c.Logprobs.Offsets...)
				}
			}
		}
		for i, c := range a.Choices {
			if texts[i] != c.Text || !slices.Equal(streamed[i].Tokens, c.Logprobs.Tokens) || !slices.Equal(streamed[i].Offsets, c.Logprobs.Offsets) {
				t.Errorf("choice %d of the stream: %q, want %q", i, texts[i], c.Text)
			}
		}
	}
	// The token that ends the text has its logarithm, so that there is always one behind the
	// prompt's.
	next := answerOf[completionAnswer](t, post(s, "/v1/completions", `{"model": "tiny", "prompt": "x y", "max_tokens": 1, "temperature": 0, "logprobs": 1, "ignore_eos": true}`)).Choices[0]
	tok, err := m.Tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	end, ok := tok.ID(next.Logprobs.Tokens[0])
	if !ok {
		t.Fatalf("no token %q", next.Logprobs.Tokens[0])
	}
	ended := answerOf[completionAnswer](t, post(s, "/v1/completions", fmt.Sprintf(`{"model": "tiny", "prompt": "x y", "max_tokens": 1, "temperature": 0, "logprobs": 1, "echo": true, "stop_token_ids": [%d]}`, end))).Choices[0]
	if ended.Text != "x y" || *ended.Reason != "stop" || len(ended.Logprobs.Tokens) != 4 || *ended.Logprobs.Logprobs[3] != *next.Logprobs.Logprobs[0] {
		t.Errorf("an answer that ends at once: %+v", ended)
	}
	none := answerOf[completionAnswer](t, post(s, "/v1/completions", `{"model": "tiny", "prompt": ["x y", "z"], "max_tokens": 0, "echo": true, "logprobs": 0}`))
	if len(none.Choices) != 2 || none.Choices[1].Text != "z" || *none.Choices[0].Reason != "length" || len(none.Choices[0].Logprobs.Tokens) != 3 || none.Usage.Completion != 0 || len(none.Choices[0].Logprobs.Top[1]) != 0 {
		t.Errorf("without an answer: %+v", none)
	}
	if bare := answerOf[completionAnswer](t, post(s, "/v1/completions", `{"model": "tiny", "prompt": "x y", "max_tokens": 1, "echo": true}`)); !strings.HasPrefix(bare.Choices[0].Text, "x y") || bare.Choices[0].Logprobs != nil {
		t.Errorf("without logarithms: %+v", bare)
	}
}

// TestTextRanks: /rerank in the form of Text Embeddings Inference, which names no model.
func TestTextRanks(t *testing.T) {
	models := tinyModels(t, kernel.Exec{Threads: 1}, 16)
	s := serverOf(t, fixed(), models...)
	texts := []string{"the cat sits", "a dog runs", "rain"}
	want, err := rerankOf(models[2]).Score(t.Context(), "a cat", texts)
	if err != nil {
		t.Fatal(err)
	}
	const begin = `{"query": "a cat", "texts": ["the cat sits", "a dog runs", "rain"]`
	for _, c := range []struct {
		more  string
		raw   bool
		texts bool
	}{{"", false, false}, {`, "raw_scores": true`, true, false}, {`, "return_text": true, "truncate": true, "truncation_direction": "Right"`, false, true}} {
		ranks := answerOf[[]struct {
			Index int
			Text  *string
			Score float32
		}](t, post(s, "/rerank", begin+c.more+"}"))
		if len(ranks) != 3 {
			t.Fatalf("%+v", ranks)
		}
		for i, r := range ranks {
			score := want[r.Index]
			if !c.raw {
				score = reranking.Sigmoid(score)
			}
			if r.Score != score || i > 0 && r.Score > ranks[i-1].Score || (r.Text != nil) != c.texts || c.texts && *r.Text != texts[r.Index] {
				t.Errorf("%s: rank %d: %+v, want the score %v", c.more, i, r, score)
			}
		}
	}
	long := strings.Repeat("cat ", 500)
	for body, status := range map[string]int{
		`"texts": ["` + long + `"]`: 400, `"texts": ["` + long + `"], "truncate": true`: 200, `"texts": ["` + long + `"], "truncate_prompt_tokens": -1`: 200, `"documents": ["` + long + `"], "model": "reranker-bert-1"`: 200,
		`"documents": ["` + long + `"], "model": "reranker-bert-1", "truncate": false`: 400, `"texts": ["a"], "receipt": true`: 400, `"texts": ["a"], "documents": ["b"]`: 400, `"texts": []`: 404,
	} {
		if w := post(s, "/rerank", `{"query": "a cat", `+body+`}`); w.Code != status {
			t.Errorf("%.60s: status %d, %s, want %d", body, w.Code, w.Body, status)
		}
	}
}

// TestTruncateLeft: tokens that are too many lose their beginning where texts do.
func TestTruncateLeft(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "left")
	err := os.CopyFS(dir, os.DirFS("../testdata/folders/embedder"))
	if err == nil {
		err = os.Remove(filepath.Join(dir, "tokenizer_config.json"))
	}
	if err == nil {
		err = os.CopyFS(dir, os.DirFS("../testdata/folders/left"))
	}
	if err != nil {
		t.Fatal(err)
	}
	m, err := Load(dir, LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	type answer struct {
		Data []struct{ Embedding []float32 }
	}
	s, most := serverOf(t, fixed(), m), embedOf(m).MaxTokens()
	vector := func(first, n int) []float32 {
		ids := make([]string, n)
		for i := range ids {
			ids[i] = strconv.Itoa((first+i)%9 + 5)
		}
		return answerOf[answer](t, post(s, "/v1/embeddings", `{"model": "left", "truncate": true, "input": [`+strings.Join(ids, ", ")+`]}`)).Data[0].Embedding
	}
	if got, want := vector(0, most+4), vector(4, most); len(got) == 0 || !slices.Equal(got, want) || slices.Equal(got, vector(0, most)) {
		t.Errorf("%v, want %v, that of the last tokens", got, want)
	}
}

// TestShapes: each of the fields by which clients limit a text does so, and no two of them.
func TestShapes(t *testing.T) {
	s := newServer(t, fixed())
	for _, c := range []struct{ body, want string }{
		{`"grammar": "root ::= \"yes\""`, "yes"},
		{`"guided_grammar": "root ::= \"no\""`, "no"},
		{`"json_schema": {"const": 5}`, "5"},
		{`"guided_json": {"const": 5}`, "5"},
		{`"guided_json": "{\"const\": 5}"`, "5"},
		{`"guided_choice": ["a \"b\" \\ c"]`, `a "b" \ c`},
		{`"structured_outputs": {"json": {"const": 5}}`, "5"},
		{`"structured_outputs": {"choice": ["only"]}`, "only"},
		{`"structured_outputs": {"grammar": "root ::= \"x\""}`, "x"},
		{`"response_format": {"type": "json_object", "schema": {"const": 5}}`, "5"},
		{`"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {"const": 5}}}`, "5"},
	} {
		for path, rest := range map[string]string{"/v1/completions": `"prompt": "x"`, "/v1/chat/completions": `"messages": [{"role": "user", "content": "x"}]`} {
			a := answerOf[chatAnswer](t, post(s, path, `{"model": "tiny", "max_tokens": 50, `+rest+`, `+c.body+`}`))
			if got := a.Choices[0].Text + a.Choices[0].Message.Content; got != c.want {
				t.Errorf("%s %s: %q, want %q", path, c.body, got, c.want)
			}
		}
		if w := post(s, "/v1/completions", `{"model": "tiny", "prompt": "x", "grammar": "root ::= \"yes\"", "json_schema": {"const": 5}, `+c.body+`}`); w.Code != 400 {
			t.Errorf("%s beside others: status %d", c.body, w.Code)
		}
	}
	if w := post(s, "/v1/completions", `{"model": "tiny", "prompt": "x", "max_tokens": 3, "grammar": "", "json_schema": null, "guided_choice": [], "structured_outputs": {}}`); w.Code != 200 {
		t.Errorf("without any: status %d, %s", w.Code, w.Body)
	}
}

// TestStops: tokens of the request end a text beside the model's, or in their place.
func TestStops(t *testing.T) {
	s := newServer(t, fixed())
	const begin = `{"model": "tiny", "prompt": "x", "max_tokens": 60, "temperature": 1, "seed": 3, "logprobs": 0`
	whole := answerOf[completionAnswer](t, post(s, "/v1/completions", begin+`, "ignore_eos": true}`)).Choices[0]
	if *whole.Reason != "length" {
		t.Fatalf("%+v", whole)
	}
	tok, err := s.find(chatModel).(*generator).m.Tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	id, ok := tok.ID(whole.Logprobs.Tokens[4])
	if !ok {
		t.Fatalf("no token %q", whole.Logprobs.Tokens[4])
	}
	at := slices.Index(whole.Logprobs.Tokens, whole.Logprobs.Tokens[4])
	for _, eos := range []string{"true", "false"} {
		c := answerOf[completionAnswer](t, post(s, "/v1/completions", begin+fmt.Sprintf(`, "ignore_eos": %s, "stop_token_ids": [%d]}`, eos, id))).Choices[0]
		if c.Text != strings.Join(whole.Logprobs.Tokens[:at], "") || *c.Reason != "stop" {
			t.Errorf("%+v, want the first %d tokens", c, at)
		}
	}
}
