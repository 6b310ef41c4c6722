package dialect

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/server/internal/options"
	"github.com/attn-go/attn/models/server/internal/request"
)

// response is an answer, or what is known of it.
type response struct {
	ID         string           `json:"id"`
	Object     string           `json:"object"`
	Created    int64            `json:"created_at"`
	Status     string           `json:"status"`
	Error      *struct{}        `json:"error"`
	Incomplete *responsesReason `json:"incomplete_details"`
	Model      string           `json:"model"`
	Output     []any            `json:"output"`
	responseEcho
	Usage *responsesUsage `json:"usage"`
	marks
}

// responseEcho is what an answer has of its request.
type responseEcho struct {
	Instructions *string         `json:"instructions"`
	Previous     *string         `json:"previous_response_id"`
	MaxTokens    *int            `json:"max_output_tokens"`
	Temperature  float64         `json:"temperature"`
	TopP         float64         `json:"top_p"`
	TopLogprobs  int             `json:"top_logprobs"`
	Text         responsesText   `json:"text"`
	Reasoning    responsesEffort `json:"reasoning"`
	Parallel     bool            `json:"parallel_tool_calls"`
	ToolChoice   string          `json:"tool_choice"`
	Tools        []any           `json:"tools"`
	Store        bool            `json:"store"`
	Background   bool            `json:"background"`
	Truncation   string          `json:"truncation"`
	Metadata     json.RawMessage `json:"metadata"`
}

type responsesReason struct {
	Reason string `json:"reason"`
}

type responsesEffort struct {
	Effort  *string `json:"effort"`
	Summary *string `json:"summary"`
}

// responsesUsage counts tokens. How many were in a cache depends on what others ask, so that no answer says it.
type responsesUsage struct {
	Input        int `json:"input_tokens"`
	InputDetails struct {
		Cached int `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	Output        int `json:"output_tokens"`
	OutputDetails struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
	Total int `json:"total_tokens"`
}

// echo returns what an answer has of the request.
func (q *responsesRequest) echo(in *Input, o *decoder.GenerateOptions) responseEcho {
	e := responseEcho{
		Instructions: q.Instructions, Previous: q.Previous, Temperature: o.Sampler.Temperature, TopP: options.WrittenTopP(o.Sampler.TopP), TopLogprobs: o.TopLogprobs,
		Text: responsesText{&responsesFormat{Type: "text"}}, ToolChoice: "auto", Tools: []any{}, Parallel: true, Store: q.stores(in), Truncation: "disabled", Metadata: q.Metadata,
	}
	if q.MaxTokens != nil {
		e.MaxTokens = &o.MaxTokens
	}
	if q.Text != nil && q.Text.Format != nil {
		e.Text = *q.Text
	}
	if q.Reasoning != nil {
		e.Reasoning.Effort = q.Reasoning.Effort
	}
	if e.Metadata == nil {
		e.Metadata = json.RawMessage("{}")
	}
	return e
}

// responsesIncomplete says why an answer is not complete.
var responsesIncomplete = map[decoder.End]string{decoder.EndMaxTokens: "max_output_tokens", decoder.EndContext: "max_output_tokens"}

// answer returns an answer of items, which is in progress if its end is none.
func (d *responses) answer(r *request.Request, items []item, end decoder.End) *response {
	a := &response{
		ID: "resp_" + r.ID, Object: "response", Created: r.Created.Unix(), Status: "completed", Model: r.Model, Output: []any{}, responseEcho: d.echo,
		marks: marksOf(r),
	}
	if end == decoder.Going {
		a.Status = "in_progress"
		return a
	}
	if reason := responsesIncomplete[end]; reason != "" {
		a.Status, a.Incomplete = "incomplete", &responsesReason{reason}
	}
	for i, it := range items {
		a.Output = append(a.Output, responsesItemOf(r, i, &it, a.Status))
	}
	a.Usage = &responsesUsage{Input: r.Prompt, Output: r.Made, Total: r.Prompt + r.Made}
	return a
}

// outputText is a part of a message.
type outputText struct {
	Type        string         `json:"type"`
	Text        string         `json:"text"`
	Annotations []any          `json:"annotations"`
	Logprobs    []tokenLogprob `json:"logprobs"`
}

// responsesMessage is an item of an answer.
type responsesMessage struct {
	ID      string `json:"id"`
	Type    string `json:"type"`
	Status  string `json:"status"`
	Role    string `json:"role"`
	Content []any  `json:"content"`
}

// responsesID returns the id of an item.
func responsesID(r *request.Request, i int) string { return fmt.Sprintf("msg_%s_%d", r.ID, i) }

// responsesPart returns the part of an item.
func responsesPart(it *item) any {
	return outputText{"output_text", it.text, []any{}, it.logprobs()}
}

// logprobs returns the logarithms of an item.
func (it *item) logprobs() []tokenLogprob {
	if it.bytes == nil {
		return []tokenLogprob{}
	}
	return logprobsOf(&request.Event{Tokens: it.tokens, Bytes: it.bytes})
}

// responsesItemOf returns an item as output has it, without content while it is in progress.
func responsesItemOf(r *request.Request, i int, it *item, status string) any {
	m := responsesMessage{responsesID(r, i), "message", status, "assistant", []any{}}
	if status != "in_progress" {
		m.Content = append(m.Content, responsesPart(it))
	}
	return m
}

// A responsesWriter writes the events of a stream, with numbers.
type responsesWriter struct {
	r    *request.Request
	b    *bytes.Buffer
	n    int // of the next event
	err  error
	last decoder.End
}

// write adds an event with its number.
func (w *responsesWriter) write(kind string, body map[string]any) {
	body["sequence_number"] = w.n
	if w.n++; w.err == nil {
		w.err = addNamed(w.b, kind, body)
	}
}

// part writes an event of the part of an item.
func (w *responsesWriter) part(kind string, i int, body map[string]any) {
	body["item_id"], body["output_index"], body["content_index"] = responsesID(w.r, i), i, 0
	w.write(kind, body)
}

// item writes an event of an item.
func (w *responsesWriter) item(kind string, i int, it *item, status string) {
	w.write(kind, map[string]any{"output_index": i, "item": responsesItemOf(w.r, i, it, status)})
}

// begin is that of [itemWriter].
func (w *responsesWriter) begin(i int, it *item) {
	w.item("response.output_item.added", i, it, "in_progress")
	w.part("response.content_part.added", i, map[string]any{"part": responsesPart(&item{itemKind: it.itemKind})})
}

// grow is that of [itemWriter].
func (w *responsesWriter) grow(i int, _ *item, by *item) {
	w.part("response.output_text.delta", i, map[string]any{"delta": by.text, "logprobs": by.logprobs()})
}

// end is that of [itemWriter].
func (w *responsesWriter) end(i int, it *item) {
	w.part("response.output_text.done", i, map[string]any{"text": it.text, "logprobs": it.logprobs()})
	w.part("response.content_part.done", i, map[string]any{"part": responsesPart(it)})
	status := "completed"
	if responsesIncomplete[w.last] != "" {
		status = "incomplete"
	}
	w.item("response.output_item.done", i, it, status)
}
