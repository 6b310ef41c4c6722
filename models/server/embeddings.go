package server

import (
	"encoding/base64"
	"encoding/binary"
	"math"

	"github.com/attn-go/attn/models/receipt"
	"github.com/attn-go/attn/models/server/internal/fields"
)

// embeddingsRequest is a request for vectors of texts.
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
		return false, badParam("truncate_prompt_tokens", "truncate_prompt_tokens: got %d, want -1, as others are not supported", *n)
	}
	return n != nil, nil
}

type vector struct {
	Object    string `json:"object"`
	Index     int    `json:"index"`
	Embedding any    `json:"embedding"` // []float32, or a string of base64
}

// embeddings answers /v1/embeddings.
func (x *exchange) embeddings() error {
	var q embeddingsRequest
	if err := x.read(&q); err != nil {
		return err
	}
	h, err := x.host(q.Model)
	if err != nil {
		return err
	}
	if h.embed == nil {
		return badParam("model", "%q is %s, want a model of embeddings", h.name, h.kind())
	}
	if q.EncodingFormat != "" && q.EncodingFormat != "float" && q.EncodingFormat != "base64" {
		return badParam("encoding_format", "encoding_format: got %.40q, want float or base64", q.EncodingFormat)
	}
	truncated, err := cutAtMost(q.TruncatePromptTokens)
	if err != nil {
		return err
	}
	q.Truncate = q.Truncate || truncated
	dimensions := h.embed.Options().Dimensions
	if q.Dimensions != nil {
		if fields.SetInt(&dimensions, q.Dimensions); dimensions < 1 || dimensions > h.embed.Width() {
			return badParam("dimensions", "dimensions: got %d, want 1 to %d", dimensions, h.embed.Width())
		}
	}
	if err := h.wantReceipt(q.Receipt); err != nil {
		return err
	}
	if q.Receipt && len(q.Input.Tokens) > 0 {
		return badParam("receipt", "receipt: got true with tokens as the input, want texts")
	}
	items, err := x.items(h, &q, dimensions)
	if err != nil {
		return err
	}
	vectors, err := h.vectors.Do(x.ctx, x.key, items)
	if err != nil {
		return err
	}
	signed, err := x.receiptOfVectors(h, &q, dimensions, vectors)
	if err != nil {
		return err
	}
	data := make([]vector, len(vectors))
	for i, v := range vectors {
		data[i] = vector{"embedding", i, v}
		if q.EncodingFormat == "base64" {
			data[i].Embedding = inBase64(v)
		}
	}
	return x.reply(struct {
		Object string   `json:"object"`
		Data   []vector `json:"data"`
		Model  string   `json:"model"`
		Usage  any      `json:"usage"`

		Fingerprint string           `json:"system_fingerprint"`
		Receipt     *receipt.Receipt `json:"receipt,omitempty"`
	}{"list", data, h.name, inputUsage{x.prompt, x.prompt}, h.fingerprint, signed})
}

// inputUsage counts the tokens of a request whose answer has none.
type inputUsage struct {
	Prompt int `json:"prompt_tokens"`
	Total  int `json:"total_tokens"`
}

// items returns the tokens of the texts of a request.
func (x *exchange) items(h *host, q *embeddingsRequest, dimensions int) ([]text, error) {
	if n := q.Input.Len(); n < 1 || n > x.s.Texts {
		return nil, badParam("input", "input: got %d texts, want 1 to %d", n, x.s.Texts)
	}
	release, err := x.encoding()
	if err != nil {
		return nil, err
	}
	defer release()
	items, most := make([]text, q.Input.Len()), h.embed.MaxTokens()
	for i, s := range q.Input.Texts {
		ids := h.embed.Tokens(s)
		if len(ids) >= most && !q.Truncate && !h.embed.Fits(s) {
			return nil, tooLong("input", most)
		}
		items[i] = text{ids, dimensions}
	}
	for i, ids := range q.Input.Tokens {
		if len(ids) > most {
			if !q.Truncate {
				return nil, tooLong("input", most)
			}
			if h.embed.Tokenizer().CutsBeginning() {
				ids = ids[len(ids)-most:]
			} else {
				ids = ids[:most]
			}
		}
		items[i] = text{ids, dimensions}
	}
	for i, item := range items {
		if bad := h.embed.CheckTokens(item.ids); bad != nil {
			return nil, badParam("input", "input[%d]%s: got %s, want %s", i, bad.Arg(), bad.Got, bad.Want)
		}
		x.prompt += len(item.ids)
	}
	return items, nil
}

// inBase64 returns the bytes of float32 numbers, the low ones first.
func inBase64(v []float32) string {
	data := make([]byte, 0, 4*len(v))
	for _, x := range v {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
	}
	return base64.StdEncoding.EncodeToString(data)
}
