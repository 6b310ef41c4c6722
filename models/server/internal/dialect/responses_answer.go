package dialect

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/server/internal/fields"
	"github.com/attn-go/attn/models/server/internal/options"
	"github.com/attn-go/attn/models/server/internal/request"
)

// response is an answer, or what is known of it.
type response struct {
	ID         string           `json:"id"`
	Object     string           `json:"object"`
	Created    int64            `json:"created_at"`
	Completed  *int64           `json:"completed_at"` // nil: a time that depends on the load is in no answer
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
	Presence     float64         `json:"presence_penalty"`
	Frequency    float64         `json:"frequency_penalty"`
	TopLogprobs  int             `json:"top_logprobs"`
	Text         textEcho        `json:"text"`
	Reasoning    responsesEffort `json:"reasoning"`
	Parallel     bool            `json:"parallel_tool_calls"`
	ToolChoice   any             `json:"tool_choice"`
	Tools        []responsesTool `json:"tools"`
	Store        bool            `json:"store"`
	Background   bool            `json:"background"`
	Truncation   string          `json:"truncation"`
	Metadata     json.RawMessage `json:"metadata"`
	MaxCalls     *fields.Int     `json:"max_tool_calls"`
	Tier         string          `json:"service_tier"`
	Safety       *string         `json:"safety_identifier"`
	CacheKey     *string         `json:"prompt_cache_key"`
}

// textEcho is text of an answer. Its format is a responsesFormat if it has a schema, and its type
// alone otherwise.
type textEcho struct {
	Format any `json:"format"`
}

type responsesReason struct {
	Reason string `json:"reason"`
}

type responsesEffort struct {
	Effort  *string `json:"effort"`
	Summary *string `json:"summary"`
}

// responsesUsage counts tokens. How many were in a cache depends on what others ask, so that no
// answer says it.
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
		Presence: o.Sampler.PresencePenalty, Frequency: o.Sampler.FrequencyPenalty, ToolChoice: q.Choice.echo(), Tools: []responsesTool{}, Parallel: q.Parallel == nil || *q.Parallel, Store: q.stores(in), Truncation: "disabled", Metadata: q.Metadata,
		MaxCalls: q.MaxCalls, Tier: "default", Safety: q.Safety, CacheKey: q.CacheKey,
	}
	if q.MaxTokens != nil {
		e.MaxTokens = &o.MaxTokens
	}
	if len(q.Tools) > 0 {
		e.Tools = q.Tools
	}
	format := responsesFormat{Type: "text"}
	if q.Text != nil && q.Text.Format != nil {
		format = *q.Text.Format
	}
	if e.Text.Format = format; format.Type == "text" || format.Schema == nil || fields.IsNull(format.Schema) {
		e.Text.Format = map[string]string{"type": format.Type}
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
	if end == decoder.EndNone {
		a.Status = "in_progress"
		return a
	}
	if reason := responsesIncomplete[end]; reason != "" {
		a.Status, a.Incomplete = "incomplete", &responsesReason{reason}
	}
	for i, it := range items {
		status := "completed"
		if i == len(items)-1 {
			status = a.Status
		}
		a.Output = append(a.Output, responsesItemOf(r, i, &it, status))
	}
	a.Usage = &responsesUsage{Input: r.Prompt, Output: r.Made, Total: r.Prompt + r.Made}
	a.Usage.OutputDetails.Reasoning = r.Thought
	return a
}

// outputText is a part of a message.
type outputText struct {
	Type        string         `json:"type"`
	Text        string         `json:"text"`
	Annotations []any          `json:"annotations"`
	Logprobs    []tokenLogprob `json:"logprobs"`
}

// outputItem is an item of an answer, of which the fields are there that its type has.
type outputItem struct {
	ID        string  `json:"id"`
	Type      string  `json:"type"`
	Status    string  `json:"status"`
	Role      string  `json:"role,omitempty"`
	Summary   *[]any  `json:"summary,omitempty"`
	Content   *[]any  `json:"content,omitempty"`
	CallID    string  `json:"call_id,omitempty"`
	Name      string  `json:"name,omitempty"`
	Arguments *string `json:"arguments,omitempty"`
}

// responsesIDs begin the ids of items.
var responsesIDs = map[itemKind]string{textItem: "msg", thoughtItem: "rs", callItem: "fc"}

// responsesID returns the id of an item.
func responsesID(r *request.Request, i int, kind itemKind) string {
	return fmt.Sprintf("%s_%s_%d", responsesIDs[kind], r.ID, i)
}

// thoughtPart is a part of reasoning.
type thoughtPart struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// responsesPart returns the part of an item.
func responsesPart(it *item) any {
	if it.itemKind == thoughtItem {
		return thoughtPart{"reasoning_text", it.text}
	}
	return outputText{"output_text", it.text, []any{}, it.logprobs()}
}

// logprobs returns the logarithms of an item.
func (it *item) logprobs() []tokenLogprob {
	if len(it.tokens) == 0 {
		return []tokenLogprob{}
	}
	return logprobsOf(&request.Event{Tokens: it.tokens, Bytes: it.bytes})
}

// responsesItemOf returns an item as output has it, without content while it is in progress.
func responsesItemOf(r *request.Request, i int, it *item, status string) outputItem {
	content := []any{}
	one := outputItem{ID: responsesID(r, i, it.itemKind), Type: "message", Status: status}
	switch it.itemKind {
	case callItem:
		one.Type, one.CallID, one.Name, one.Arguments = "function_call", it.id, it.name, &it.text
		return one
	case thoughtItem:
		one.Type, one.Summary = "reasoning", &[]any{}
	default:
		one.Role = "assistant"
	}
	if status != "in_progress" {
		content = append(content, responsesPart(it))
	}
	one.Content = &content
	return one
}

// A responsesWriter writes the events of a stream, with numbers.
type responsesWriter struct {
	r    *request.Request
	b    *bytes.Buffer
	n    int // of the next event
	err  error
	last decoder.End
}

// status returns the status of the item that ends: the last one may be incomplete.
func (w *responsesWriter) status() string {
	if responsesIncomplete[w.last] != "" {
		return "incomplete"
	}
	return "completed"
}

// write adds an event with its number.
func (w *responsesWriter) write(kind string, body map[string]any) {
	body["sequence_number"] = w.n
	if w.n++; w.err == nil {
		w.err = addNamed(w.b, kind, body)
	}
}

// part writes an event of an item, or of its part.
func (w *responsesWriter) part(kind string, i int, it *item, body map[string]any) {
	if body["item_id"], body["output_index"] = responsesID(w.r, i, it.itemKind), i; it.itemKind != callItem {
		body["content_index"] = 0
	}
	w.write(kind, body)
}

// item writes an event that has an item.
func (w *responsesWriter) item(kind string, i int, it *item, status string) {
	w.write(kind, map[string]any{"output_index": i, "item": responsesItemOf(w.r, i, it, status)})
}

func (w *responsesWriter) begin(i int, it *item) {
	if w.item("response.output_item.added", i, it, "in_progress"); it.itemKind != callItem {
		w.part("response.content_part.added", i, it, map[string]any{"part": responsesPart(it)})
	}
}

// responsesGrowth begin the types of events that say what items grow by.
var responsesGrowth = map[itemKind]string{textItem: "response.output_text", thoughtItem: "response.reasoning_text", callItem: "response.function_call_arguments"}

func (w *responsesWriter) grow(i int, by *item) {
	body := map[string]any{"delta": by.text}
	if by.itemKind == textItem {
		body["logprobs"] = by.logprobs()
	}
	w.part(responsesGrowth[by.itemKind]+".delta", i, by, body)
}

func (w *responsesWriter) end(i int, it *item) {
	body := map[string]any{"text": it.text}
	switch it.itemKind {
	case textItem:
		body["logprobs"] = it.logprobs()
	case callItem:
		body = map[string]any{"arguments": it.text, "name": it.name}
	}
	if w.part(responsesGrowth[it.itemKind]+".done", i, it, body); it.itemKind != callItem {
		w.part("response.content_part.done", i, it, map[string]any{"part": responsesPart(it)})
	}
	w.item("response.output_item.done", i, it, w.status())
}
