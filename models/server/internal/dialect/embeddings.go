package dialect

import (
	"encoding/base64"
	"encoding/binary"
	"math"

	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/receipt"
	"github.com/attn-go/attn/models/server/internal/fields"
	"github.com/attn-go/attn/models/server/internal/request"
)

// embeddings is /v1/embeddings: vectors of texts, or of tokens as at Jina's /v1/multi-vector.
type embeddings struct {
	OpenAI
	format string
	multi  bool
}

// embeddingsRequest is the body of a request.
type embeddingsRequest struct {
	Model          string        `json:"model"`
	Input          fields.Inputs `json:"input"`
	EncodingFormat string        `json:"encoding_format"`
	Dimensions     *fields.Int   `json:"dimensions"`

	// A prompt of the model by its name, or by what Cohere's, Jina's, NVIDIA's and Voyage's APIs
	// call it.
	PromptName string `json:"prompt_name"`
	InputType  string `json:"input_type"`

	// Truncate leaves out the end of a text that is too long, or its beginning if the model's
	// tokenizer cuts there. Otherwise such a text is an error.
	Truncate bool `json:"truncate"`

	// TruncatePromptTokens is vLLM's name for that: -1 means at the most tokens that the model
	// sees.
	TruncatePromptTokens *fields.Int `json:"truncate_prompt_tokens"`

	Multi  bool `json:"return_multivector"` // vectors of tokens in place of a vector, as Jina's API has them
	Sparse bool `json:"return_sparse"`      // weights of tokens, beside a vector if the model has one

	Receipt bool `json:"receipt"` // whether to add a receipt
}

// cutAtMost reads truncate_prompt_tokens: whether texts are cut at the most tokens that the model
// sees.
func cutAtMost(n *fields.Int) (bool, error) {
	if n != nil && *n != -1 {
		return false, fields.Errorf("truncate_prompt_tokens", "truncate_prompt_tokens: got %d, want -1, as others are not supported", *n)
	}
	return n != nil, nil
}

// Read implements [Dialect].
func (d *embeddings) Read(in *Input) (*request.Request, error) {
	var q embeddingsRequest
	if err := in.decode(&q); err != nil {
		return nil, err
	}
	switch d.format = q.EncodingFormat; d.format {
	case "", "float", "base64", "int8", "ubinary":
	default:
		return nil, fields.Errorf("encoding_format", "encoding_format: got %.40q, want float, base64, int8 or ubinary", d.format)
	}
	if d.multi = d.multi || q.Multi; d.multi && d.format == "int8" {
		return nil, fields.Errorf("encoding_format", "encoding_format: got int8 with vectors of tokens, want float, base64 or ubinary")
	}
	truncated, err := cutAtMost(q.TruncatePromptTokens)
	if err != nil {
		return nil, err
	}
	w := &request.Embed{Inputs: request.Inputs(q.Input), Multi: d.multi, Sparse: q.Sparse, Truncate: q.Truncate || truncated}
	w.Dimensions = dimensionsOf(q.Dimensions)
	if err := q.prompt(w); err != nil {
		return nil, err
	}
	return &request.Request{Model: q.Model, Receipt: q.Receipt, Work: w}, nil
}

// inputTypes are other names of the prompts that input_type names.
var inputTypes = map[string][]string{
	"search_query": {"query"}, "retrieval.query": {"query"}, "query": {"search_query"},
	"search_document": {"document", "passage"}, "retrieval.passage": {"passage", "document"}, "passage": {"document"}, "document": {"passage", "search_document"},
}

// prompt sets the prompt that a request names.
func (q *embeddingsRequest) prompt(w *request.Embed) error {
	switch {
	case q.PromptName != "" && q.InputType != "":
		return fields.Errorf("input_type", "input_type: got it beside prompt_name, want one of them")
	case q.PromptName != "":
		w.Prompt, w.PromptField = q.PromptName, "prompt_name"
	case q.InputType != "":
		w.Prompt, w.PromptField, w.PromptNames = q.InputType, "input_type", inputTypes[q.InputType]
	}
	return nil
}

// dimensionsOf returns how many numbers vectors are to have, nil for the model's number.
func dimensionsOf(n *fields.Int) *int {
	if n == nil {
		return nil
	}
	to := new(int)
	fields.SetInt(to, n)
	return to
}

type vector struct {
	Object    string `json:"object"`
	Index     int    `json:"index"`
	Embedding any    `json:"embedding,omitempty"` // []float32, a string of base64, []int8, or bits

	Scale float32 `json:"scale,omitempty"` // of int8: what 1 stands for

	Embeddings any `json:"embeddings,omitempty"`       // of tokens
	Sparse     any `json:"sparse_embedding,omitempty"` // weights of tokens, also an empty list
}

// inFormat returns vectors of tokens, in a format without scales.
func inFormat(vectors [][]float32, format string) []any {
	all := make([]any, len(vectors))
	for i, v := range vectors {
		all[i] = newVector(i, v, format).Embedding
	}
	return all
}

// newVector returns a vector in a format.
func newVector(i int, v []float32, format string) vector {
	one := vector{Object: "embedding", Index: i, Embedding: v}
	switch format {
	case "base64":
		one.Embedding = inBase64(v)
	case "int8":
		if small, scales, err := embedding.Int8([][]float32{v}); err == nil { // otherwise it has no JSON, either
			one.Embedding, one.Scale = small[0], scales[0]
		}
	case "ubinary":
		one.Embedding = signs(v)
	}
	return one
}

// signs returns which numbers are above 0, as bits, the first of 8 as the highest bit.
func signs(v []float32) []uint16 {
	bits := make([]uint16, (len(v)+7)/8) // JSON writes it as numbers, bytes as text
	for i, x := range v {
		if x > 0 {
			bits[i/8] |= 128 >> (i % 8)
		}
	}
	return bits
}

// inputUsage counts the tokens of a request whose answer has none.
type inputUsage struct {
	Prompt int `json:"prompt_tokens"`
	Total  int `json:"total_tokens"`
}

// Whole implements [Dialect].
func (d *embeddings) Whole(r *request.Request) any {
	w := r.Work.(*request.Embed)
	data := make([]vector, len(w.IDs))
	for i := range data {
		data[i] = vector{Object: "embedding", Index: i}
		if len(w.Vectors) > 0 {
			data[i] = newVector(i, w.Vectors[i], d.format)
		}
		if w.Multi {
			data[i].Embeddings = inFormat(w.Lists[i].Vectors, d.format)
		}
		if w.Sparse {
			data[i].Sparse = weightsOf(w.Weights[i])
		}
	}
	return struct {
		Object string     `json:"object"`
		Data   []vector   `json:"data"`
		Model  string     `json:"model"`
		Usage  inputUsage `json:"usage"`

		Fingerprint string           `json:"system_fingerprint"`
		Receipt     *receipt.Receipt `json:"receipt,omitempty"`
	}{"list", data, r.Model, inputUsage{r.Prompt, r.Prompt}, r.Fingerprint, oneReceipt(r)}
}

// oneReceipt returns the receipt of a whole request, nil if none is wanted.
func oneReceipt(r *request.Request) *receipt.Receipt {
	if len(r.Receipts) == 0 {
		return nil
	}
	return r.Receipts[0]
}

// inBase64 returns the bytes of float32 numbers, the low ones first.
func inBase64(v []float32) string {
	data := make([]byte, 0, 4*len(v))
	for _, x := range v {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
	}
	return base64.StdEncoding.EncodeToString(data)
}
