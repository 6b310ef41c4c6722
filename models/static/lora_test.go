package static

import (
	"errors"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/lora"
)

// TestAdapter: a table takes no adapters.
func TestAdapter(t *testing.T) {
	if _, err := Load("../testdata/tiny/model2vec-1", embedding.LoadOptions{LoRA: []lora.Adapter{{Path: "x"}}}); !errors.As(err, new(*kernel.Error)) {
		t.Error(err)
	}
}
