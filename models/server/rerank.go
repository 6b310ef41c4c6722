package server

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/receipt"
	"github.com/attn-go/attn/models/reranking"
	"github.com/attn-go/attn/models/server/internal/fields"
)

// rerankRequest is a request to rank documents, with the fields of Cohere's and Jina's APIs, or those of Text
// Embeddings Inference, whose documents are texts.
type rerankRequest struct {
	Model           string           `json:"model"`
	Query           string           `json:"query"`
	Documents       []fields.Passage `json:"documents"`
	TopN            *fields.Int      `json:"top_n"`
	ReturnDocuments bool             `json:"return_documents"`

	Texts      []string `json:"texts"`
	ReturnText bool     `json:"return_text"`
	RawScores  bool     `json:"raw_scores"` // those of the classifier, without the logistic function

	// Truncate says whether the end of a document that does not fit beside the query is left out, or is an error.
	// The default is true with documents, and false with texts.
	Truncate *bool `json:"truncate"`

	TruncatePromptTokens *fields.Int `json:"truncate_prompt_tokens"` // -1 means Truncate, see embeddingsRequest

	// Of [reranking.Options].
	Instruction string `json:"instruction"`
	Label       string `json:"label"`

	Receipt bool `json:"receipt"` // one of package receipt
}

// Fields is that of [fields.Tabled].
func (*rerankRequest) Fields() fields.Table { return fields.Rerank }

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
	if q.Model == "" && len(q.Texts) > 0 { // a form that names no model
		q.Model = x.onlyReranker()
	}
	h, err := x.host(q.Model)
	if err != nil {
		return err
	}
	if h.passages == nil {
		return badParam("model", "%q is %s, want a reranker", h.name, h.kind())
	}
	if truncated, err := cutAtMost(q.TruncatePromptTokens); err != nil {
		return err
	} else if truncated {
		q.Truncate = &truncated
	}
	texts, field, err := q.passages()
	if err != nil {
		return err
	}
	if n := len(texts); n < 1 || n > x.s.Texts {
		return badParam(field, "%s: got %d, want 1 to %d", field, n, x.s.Texts)
	}
	if err := h.wantReceipt(q.Receipt); err != nil {
		return err
	}
	top := -1
	if fields.SetInt(&top, q.TopN); top < -1 {
		return badParam("top_n", "top_n: got %d, want 1 or more, or 0 or -1 for all", top)
	}
	if top < 1 || top > len(texts) {
		top = len(texts)
	}
	with, err := q.reranker(h)
	if err != nil {
		return err
	}
	pairs, err := x.pairs(with, &q, texts)
	if err != nil {
		return err
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
		if ranks[i] = (rank{Index: i, Score: s}); !q.RawScores {
			ranks[i].Score = reranking.Sigmoid(s)
		}
		if q.ReturnDocuments || q.ReturnText {
			ranks[i].Document = &documentText{texts[i]}
		}
	}
	slices.SortStableFunc(ranks, func(a, b rank) int { return cmp.Compare(scores[b.Index], scores[a.Index]) })
	if len(q.Texts) > 0 {
		return x.reply(textRanks(ranks[:top]))
	}
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

// onlyReranker returns the name of the reranker, if there is one and no other.
func (x *exchange) onlyReranker() (name string) {
	for _, h := range x.hosts {
		switch {
		case h.passages == nil:
		case name != "":
			return ""
		default:
			name = h.name
		}
	}
	return name
}

// passages returns the texts to rank, and the field that has them.
func (q *rerankRequest) passages() (texts []string, field string, err error) {
	switch {
	case len(q.Texts) > 0 && len(q.Documents) > 0:
		return nil, "", badParam("texts", "texts: got some beside documents, want one of them")
	case len(q.Texts) > 0 && q.Receipt:
		return nil, "", badParam("receipt", "receipt: got true with texts, whose answer has no place for it, want documents")
	case len(q.Texts) > 0:
		return q.Texts, "texts", nil
	}
	for _, d := range q.Documents {
		texts = append(texts, string(d))
	}
	return texts, "documents", nil
}

// pairs returns the tokens of the query with each text, and counts them.
func (x *exchange) pairs(with *reranking.Reranker, q *rerankRequest, texts []string) ([]reranking.Pair, error) {
	release, err := x.encoding()
	if err != nil {
		return nil, err
	}
	defer release()
	pairs, err := with.Pairs(x.ctx, q.Query, texts)
	var bad *kernel.Error
	switch {
	case errors.As(err, &bad):
		return nil, badParam(bad.Arg(), "%s: got %s, want %s", bad.Arg(), bad.Got, bad.Want)
	case err != nil && x.ctx.Err() == nil:
		return nil, badParam("query", "%v", err)
	case err != nil:
		return nil, err
	}
	truncate, field := false, "texts"
	if len(q.Documents) > 0 {
		truncate, field = true, "documents"
	}
	fields.Set(&truncate, q.Truncate)
	most := with.MaxTokens()
	for i, p := range pairs {
		if x.prompt += p.Len(); !truncate && p.Len() >= most && with.CountTokens(q.Query, texts[i]) > most {
			return nil, tooLong(field, most)
		}
	}
	return pairs, nil
}

// textRank is a rank as Text Embeddings Inference has it.
type textRank struct {
	Index int     `json:"index"`
	Text  *string `json:"text,omitempty"`
	Score float32 `json:"score"`
}

func textRanks(ranks []rank) []textRank {
	list := make([]textRank, len(ranks))
	for i, r := range ranks {
		if list[i] = (textRank{Index: r.Index, Score: r.Score}); r.Document != nil {
			list[i].Text = &r.Document.Text
		}
	}
	return list
}

// reranker returns the model with the settings of a request.
func (q *rerankRequest) reranker(h *host) (*reranking.Reranker, error) {
	o := h.Model.rerank.Options()
	o.Instruction, o.Label = q.Instruction, q.Label
	with := h.Model.rerank.With(o)
	var bad *kernel.Error
	if err := with.Check(); errors.As(err, &bad) {
		param := strings.ToLower(strings.TrimPrefix(bad.Arg(), "Options."))
		return nil, badParam(param, "%s: got %s, want %s", param, bad.Got, bad.Want)
	}
	return with, nil
}
