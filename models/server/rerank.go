package server

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/receipt"
	"github.com/attn-go/attn/models/reranking"
	"github.com/attn-go/attn/models/server/internal/fields"
)

// rerankRequest is a request to rank documents, with the fields of Cohere's and Jina's APIs.
type rerankRequest struct {
	Model           string        `json:"model"`
	Query           string        `json:"query"`
	Documents       []document    `json:"documents"`
	TopN            *int          `json:"top_n"`
	ReturnDocuments bool          `json:"return_documents"`
	User            fields.Unused `json:"user"`
	Priority        fields.Unused `json:"priority"`
	MaxTokensPerDoc fields.Absent `json:"max_tokens_per_doc"`
	RankFields      fields.Absent `json:"rank_fields"`

	// Of [reranking.Options].
	Instruction string `json:"instruction"`
	Label       string `json:"label"`

	Receipt bool `json:"receipt"` // one of package receipt
}

// A document is a string, or an object with a text.
type document string

func (d *document) UnmarshalJSON(data []byte) error {
	var object struct{ Text *string }
	switch {
	case json.Unmarshal(data, (*string)(d)) == nil && !fields.IsNull(data):
		return nil
	case json.Unmarshal(data, &object) == nil && object.Text != nil:
		*d = document(*object.Text)
		return nil
	}
	return fields.Errorf("documents", "documents: got %.40s, want strings or objects with a text", data)
}

type documentText struct {
	Text string `json:"text"`
}

type rank struct {
	Index    int           `json:"index"`
	Score    float32       `json:"relevance_score"`
	Document *documentText `json:"document,omitempty"`
}

// rerank answers /v1/rerank. Of a document that does not fit beside the query, only the beginning counts.
func (x *exchange) rerank() error {
	var q rerankRequest
	if err := x.read(&q); err != nil {
		return err
	}
	h, err := x.host(q.Model)
	if err != nil {
		return err
	}
	if h.passages == nil {
		return badParam("model", "%q is %s, want a reranker", h.name, h.kind())
	}
	if n := len(q.Documents); n < 1 || n > x.s.Texts {
		return badParam("documents", "documents: got %d, want 1 to %d", n, x.s.Texts)
	}
	if err := h.wantReceipt(q.Receipt); err != nil {
		return err
	}
	top := len(q.Documents)
	if q.TopN != nil {
		if *q.TopN < 1 {
			return badParam("top_n", "top_n: got %d, want 1 or more", *q.TopN)
		}
		top = min(top, *q.TopN)
	}
	texts := make([]string, len(q.Documents))
	for i, d := range q.Documents {
		texts[i] = string(d)
	}
	with, err := q.reranker(h)
	if err != nil {
		return err
	}
	pairs, err := with.Pairs(x.ctx, q.Query, texts)
	if err != nil && x.ctx.Err() == nil {
		return badParam("query", "%v", err)
	} else if err != nil {
		return err
	}
	for _, p := range pairs {
		x.prompt += p.Len()
	}
	scores, err := h.passages.Do(x.ctx, x.key, pairs)
	if err != nil {
		return err
	}
	signed, err := x.receiptOfScores(h, with, &q, texts, scores)
	if err != nil {
		return err
	}
	ranks := make([]rank, len(scores))
	for i, s := range scores {
		ranks[i] = rank{Index: i, Score: reranking.Sigmoid(s)}
		if q.ReturnDocuments {
			ranks[i].Document = &documentText{string(q.Documents[i])}
		}
	}
	slices.SortStableFunc(ranks, func(a, b rank) int { return cmp.Compare(scores[b.Index], scores[a.Index]) })
	return x.reply(struct {
		ID          string     `json:"id"`
		Object      string     `json:"object"`
		Model       string     `json:"model"`
		Fingerprint string     `json:"system_fingerprint"`
		Usage       inputUsage `json:"usage"`
		Results     []rank     `json:"results"`

		Receipt *receipt.Receipt `json:"receipt,omitempty"`
	}{"rerank-" + x.newID(), "list", h.name, h.fingerprint, inputUsage{x.prompt, x.prompt}, ranks[:top], signed})
}

// reranker returns the model with the settings of a request.
func (q *rerankRequest) reranker(h *host) (*reranking.Reranker, error) {
	o := h.Model.rerank.Options()
	o.Instruction, o.Label = q.Instruction, q.Label
	with := h.Model.rerank.With(o)
	var bad *kernel.ArgumentError
	if err := with.Check(); errors.As(err, &bad) {
		param := strings.ToLower(strings.TrimPrefix(bad.Arg, "Options."))
		return nil, badParam(param, "%s: got %s, want %s", param, bad.Got, bad.Want)
	}
	return with, nil
}
