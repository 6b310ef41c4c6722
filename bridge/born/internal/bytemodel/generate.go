package bytemodel

import (
	"github.com/attn-go/attn/numeric"
	"github.com/born-ml/born/models/llama"
	"github.com/born-ml/born/tensor"
)

// A Text is a text that a model has read, with a cache of its keys and values.
type Text[B tensor.Backend] struct {
	model *llama.Model[B]
	cache *llama.ModelCache[B]
	n     int
}

// NewText returns an empty text.
func NewText[B tensor.Backend](m *llama.Model[B], backend B) *Text[B] {
	return &Text[B]{model: m, cache: llama.NewModelCache(m.Config, m.Config.MaxSeqLen, backend)}
}

// Read lets the model read further bytes, at least one, and returns the logits of all of
// them, [len(bytes), 256].
func (t *Text[B]) Read(bytes []byte) ([]float32, error) {
	raw, err := tensor.NewRaw(tensor.Shape{1, len(bytes)}, tensor.Int32, tensor.CPU)
	if err != nil {
		return nil, err
	}
	ids := raw.AsInt32()
	for i, b := range bytes {
		ids[i] = int32(b)
	}
	logits := t.model.Forward(raw, t.cache, t.n).AsFloat32()
	t.n += len(bytes)
	return logits, nil
}

// Greedy returns the byte with the largest of the logits of the last byte.
func Greedy(logits []float32) byte {
	return byte(numeric.Argmax(logits[len(logits)-256:]))
}
