package dialect

import (
	"cmp"
	"slices"

	"github.com/attn-go/attn/models/receipt"
	"github.com/attn-go/attn/models/reranking"
	"github.com/attn-go/attn/models/server/internal/fields"
	"github.com/attn-go/attn/models/server/internal/request"
)

// ranking are the paths of rerankers.
var ranking = []Path{
	{"POST /v1/rerank", func() Dialect { return &rerank{} }, ""},
	{"POST /v2/rerank", func() Dialect { return &rerank{} }, ""},
	{"POST /rerank", func() Dialect { return &rerank{} }, ""},
}

// rerank ranks documents.
type rerank struct {
	OpenAI
	q rerankRequest
}

// rerankRequest is a request to rank documents, with the fields of Cohere's and Jina's APIs, or of
// Text Embeddings Inference, whose documents are texts.
type rerankRequest struct {
	Model           string           `json:"model"`
	Query           *string          `json:"query"`
	Documents       []fields.Passage `json:"documents"`
	TopN            *fields.Int      `json:"top_n"`
	ReturnDocuments bool             `json:"return_documents"`

	Texts      []string `json:"texts"`
	ReturnText bool     `json:"return_text"`
	RawScores  bool     `json:"raw_scores"` // of the classifier, without the logistic function

	// Truncate says whether the end of a document that does not fit beside the query is left out,
	// or is an error. The default is true with documents, and false with texts.
	Truncate *bool `json:"truncate"`

	TruncatePromptTokens *fields.Int `json:"truncate_prompt_tokens"` // -1 means Truncate, see embeddingsRequest

	// Of [reranking.Options].
	Instruction string `json:"instruction"`
	Label       string `json:"label"`

	Receipt bool `json:"receipt"` // whether to add a receipt
}

// Read implements [Dialect].
func (d *rerank) Read(in *Input) (*request.Request, error) {
	q := &d.q
	if err := in.decode(q); err != nil {
		return nil, err
	}
	if q.Query == nil {
		return nil, fields.Errorf("query", "query: got none, want a text")
	}
	w := &request.Rank{Query: *q.Query, Texts: q.Texts, Field: "texts", Instruction: q.Instruction, Label: q.Label}
	switch {
	case len(q.Texts) > 0 && len(q.Documents) > 0:
		return nil, fields.Errorf("texts", "texts: got some beside documents, want one of them")
	case len(q.Texts) > 0 && q.Receipt:
		return nil, fields.Errorf("receipt", "receipt: got true with texts, whose answer has no place for it, want documents")
	case len(q.Texts) == 0:
		w.Field, w.Truncate = "documents", true
		for _, text := range q.Documents {
			w.Texts = append(w.Texts, string(text))
		}
	}
	fields.Set(&w.Truncate, q.Truncate)
	if truncated, err := cutAtMost(q.TruncatePromptTokens); err != nil {
		return nil, err
	} else if truncated {
		w.Truncate = true
	}
	if d.top() < -1 {
		return nil, fields.Errorf("top_n", "top_n: got %d, want 1 or more, or 0 or -1 for all", d.top())
	}
	return &request.Request{Model: q.Model, Unnamed: len(q.Texts) > 0, Receipt: q.Receipt, Work: w}, nil
}

// top returns how many ranks are wanted, 0 or -1 for all.
func (d *rerank) top() int {
	top := -1
	fields.SetInt(&top, d.q.TopN)
	return top
}

type documentText struct {
	Text string `json:"text"`
}

type rank struct {
	Index    int           `json:"index"`
	Score    float32       `json:"relevance_score"`
	Document *documentText `json:"document,omitempty"`
}

// textRank is a rank as Text Embeddings Inference has it.
type textRank struct {
	Index int     `json:"index"`
	Text  *string `json:"text,omitempty"`
	Score float32 `json:"score"`
}

// Whole implements [Dialect].
func (d *rerank) Whole(r *request.Request) any {
	w := r.Work.(*request.Rank)
	ranks := make([]rank, len(w.Scores))
	for i, s := range w.Scores {
		if ranks[i] = (rank{Index: i, Score: s}); !d.q.RawScores && !w.Raw {
			ranks[i].Score = reranking.Sigmoid(s)
		}
		if d.q.ReturnDocuments || d.q.ReturnText {
			ranks[i].Document = &documentText{w.Texts[i]}
		}
	}
	slices.SortStableFunc(ranks, func(a, b rank) int { return cmp.Compare(w.Scores[b.Index], w.Scores[a.Index]) })
	if top := d.top(); top > 0 && top < len(ranks) {
		ranks = ranks[:top]
	}
	if len(d.q.Texts) > 0 {
		return textRanks(ranks)
	}
	return struct {
		ID          string     `json:"id"`
		Object      string     `json:"object"`
		Model       string     `json:"model"`
		Fingerprint string     `json:"system_fingerprint"`
		Usage       inputUsage `json:"usage"`
		Results     []rank     `json:"results"`

		Receipt *receipt.Receipt `json:"receipt,omitempty"`
	}{"rerank-" + r.ID, "list", r.Model, r.Fingerprint, inputUsage{r.Prompt, r.Prompt}, ranks, oneReceipt(r)}
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
