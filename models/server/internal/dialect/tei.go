package dialect

import (
	"cmp"
	"encoding/json"
	"net/http"

	"github.com/attn-go/attn/models/server/internal/fields"
	"github.com/attn-go/attn/models/server/internal/request"
)

// teiPaths are those of Text Embeddings Inference beside /rerank.
var teiPaths = []Path{{"POST /embed", func() Dialect { return &teiEmbed{} }, ""}}

// teiEmbed is /embed: vectors of texts, and nothing beside them.
type teiEmbed struct{}

// teiTypes are the types of errors by their status.
var teiTypes = map[int]string{
	http.StatusTooManyRequests: "Overloaded", http.StatusServiceUnavailable: "Overloaded", http.StatusInternalServerError: "Backend", http.StatusBadGateway: "Backend",
	http.StatusUnauthorized: "Unauthorized",
}

// Fail is that of [Errors].
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

// Read is that of [Dialect].
func (*teiEmbed) Read(in *Input) (*request.Request, error) {
	var q teiRequest
	if err := in.decode(&q); err != nil {
		return nil, err
	}
	w := &request.Embed{Inputs: request.Inputs(q.Inputs), Truncate: q.Truncate, Dimensions: dimensionsOf(q.Dimensions), Prompt: q.PromptName, PromptField: "prompt_name"}
	return &request.Request{Model: q.Model, Unnamed: true, Work: w}, nil
}

// Whole is that of [Dialect].
func (*teiEmbed) Whole(r *request.Request) any { return r.Work.(*request.Embed).Vectors }
