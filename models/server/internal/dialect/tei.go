package dialect

import (
	"cmp"
	"encoding/json"
	"net/http"

	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/server/internal/fields"
	"github.com/attn-go/attn/models/server/internal/request"
)

// teiPaths are the paths of Text Embeddings Inference beside /rerank.
var teiPaths = []Path{
	{"POST /embed", func() Dialect { return &teiEmbed{} }, ""},
	{"POST /embed_all", func() Dialect { return &teiEmbed{all: true} }, ""},
	{"POST /embed_sparse", func() Dialect { return &teiEmbed{sparse: true} }, ""},
}

// teiEmbed is /embed: vectors of texts, and nothing beside them. /embed_all has vectors of all
// tokens, and /embed_sparse weights.
type teiEmbed struct{ all, sparse bool }

// teiTypes are the types of errors by their status.
var teiTypes = map[int]string{
	http.StatusTooManyRequests: "Overloaded", http.StatusServiceUnavailable: "Overloaded", http.StatusInternalServerError: "Backend", http.StatusBadGateway: "Backend",
	http.StatusUnauthorized: "Unauthorized",
}

// Fail implements [Errors].
func (teiEmbed) Fail(f *Failure) []byte {
	data, _ := json.Marshal(struct { // texts have no error
		Error string `json:"error"`
		Type  string `json:"error_type"`
	}{f.Message, cmp.Or(teiTypes[f.Status], "Validation")})
	return data
}

// teiRequest is the body of a request.
type teiRequest struct {
	Inputs     fields.Inputs `json:"inputs"`
	Truncate   bool          `json:"truncate"`
	PromptName string        `json:"prompt_name"`
	Dimensions *fields.Int   `json:"dimensions"`
	Model      string        `json:"model"` // not in its API, whose servers have one model
}

// Read implements [Dialect].
func (d *teiEmbed) Read(in *Input) (*request.Request, error) {
	var q teiRequest
	if err := in.decode(&q); err != nil {
		return nil, err
	}
	w := &request.Embed{Inputs: request.Inputs(q.Inputs), Multi: d.all, Sparse: d.sparse, Alone: true, Truncate: q.Truncate, Dimensions: dimensionsOf(q.Dimensions), Prompt: q.PromptName, PromptField: "prompt_name"}
	return &request.Request{Model: q.Model, Unnamed: true, Work: w}, nil
}

// Whole implements [Dialect].
func (d *teiEmbed) Whole(r *request.Request) any {
	w := r.Work.(*request.Embed)
	switch {
	case d.all:
		all := make([]any, len(w.Lists))
		for i, x := range w.Lists {
			all[i] = inFormat(x.Vectors, "")
		}
		return all
	case d.sparse:
		all := make([][]weight, len(w.Weights))
		for i, x := range w.Weights {
			all[i] = weightsOf(x)
		}
		return all
	}
	return w.Vectors
}

// weight is the weight of a token.
type weight struct {
	Index int32   `json:"index"`
	Value float32 `json:"value"`
}

// weightsOf lists the weights of a text.
func weightsOf(s embedding.Sparse) []weight {
	all := make([]weight, len(s.Tokens))
	for i, id := range s.Tokens {
		all[i] = weight{id, s.Weights[i]}
	}
	return all
}
