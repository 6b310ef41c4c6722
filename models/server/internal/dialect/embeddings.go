package dialect

import (
	"encoding/base64"
	"encoding/binary"
	"math"

	"github.com/attn-go/attn/models/receipt"
	"github.com/attn-go/attn/models/server/internal/fields"
	"github.com/attn-go/attn/models/server/internal/request"
)

// embeddings is /v1/embeddings: vectors of texts.
type embeddings struct {
	OpenAI
	format string
}

// embeddingsRequest is the body of a request.
type embeddingsRequest struct {
	Model          string        `json:"model"`
	Input          fields.Inputs `json:"input"`
	EncodingFormat string        `json:"encoding_format"`
	Dimensions     *fields.Int   `json:"dimensions"`

	// Truncate leaves out the end of a text that is too long, or its beginning if the model's tokenizer cuts there. Otherwise
	// such a text is an error.
	Truncate bool `json:"truncate"`

	// TruncatePromptTokens is vLLM's name for that: -1 means at the most tokens that the model sees.
	TruncatePromptTokens *fields.Int `json:"truncate_prompt_tokens"`

	Receipt bool `json:"receipt"` // one of package receipt
}

// Fields is that of [fields.Tabled].
func (*embeddingsRequest) Fields() fields.Table { return fields.Embedding }

// cutAtMost reads truncate_prompt_tokens: whether texts are cut at the most tokens that the model sees.
func cutAtMost(n *fields.Int) (bool, error) {
	if n != nil && *n != -1 {
		return false, fields.Errorf("truncate_prompt_tokens", "truncate_prompt_tokens: got %d, want -1, as others are not supported", *n)
	}
	return n != nil, nil
}

// Read is that of [Dialect].
func (d *embeddings) Read(in *Input) (*request.Request, error) {
	var q embeddingsRequest
	if err := in.decode(&q); err != nil {
		return nil, err
	}
	if d.format = q.EncodingFormat; d.format != "" && d.format != "float" && d.format != "base64" {
		return nil, fields.Errorf("encoding_format", "encoding_format: got %.40q, want float or base64", d.format)
	}
	truncated, err := cutAtMost(q.TruncatePromptTokens)
	if err != nil {
		return nil, err
	}
	w := &request.Embed{Inputs: request.Inputs(q.Input), Truncate: q.Truncate || truncated}
	w.Dimensions = dimensionsOf(q.Dimensions)
	return &request.Request{Model: q.Model, Receipt: q.Receipt, Work: w}, nil
}

// dimensionsOf returns how many numbers vectors are to have, nil for those of the model.
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
	Embedding any    `json:"embedding"` // []float32, or a string of base64
}

// inputUsage counts the tokens of a request whose answer has none.
type inputUsage struct {
	Prompt int `json:"prompt_tokens"`
	Total  int `json:"total_tokens"`
}

// Whole is that of [Dialect].
func (d *embeddings) Whole(r *request.Request) any {
	vectors := r.Work.(*request.Embed).Vectors
	data := make([]vector, len(vectors))
	for i, v := range vectors {
		data[i] = vector{"embedding", i, v}
		if d.format == "base64" {
			data[i].Embedding = inBase64(v)
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
