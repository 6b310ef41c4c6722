package receipt

import (
	"errors"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/precision"
)

// A receipt names the precision, and not two of them.
func TestPrecision(t *testing.T) {
	for _, p := range []precision.Precision{precision.Float32, precision.BFloat16, precision.Int8} {
		s := settingsOf(&decoder.Options{Precision: p})
		if o, err := s.Options(); err != nil || o.Precision != p {
			t.Errorf("%v: got %v, %v", p, o.Precision, err)
		}
		e := EmbeddingSettings{Int8: p == precision.Int8, BFloat16: p == precision.BFloat16}
		if o := e.LoadOptions(); o.Precision != p || o.Unit || o.Context != 0 {
			t.Errorf("%v: got %+v", p, o)
		}
	}
	readings := []Reading{{Text: "a"}}
	s := Settings{Cache: "float32", CacheValues: "float32", Int8: true, BFloat16: true}
	_, err := s.Options()
	for name, err := range map[string]error{
		"settings":   err,
		"embeddings": (&Embeddings{Settings: EmbeddingSettings{Int8: true, BFloat16: true}, Texts: readings}).check(),
		"ranking":    (&Ranking{Int8: true, BFloat16: true, Passages: readings}).check(),
	} {
		if !errors.Is(err, kernel.ErrArgument) {
			t.Errorf("%s: two precisions: %v", name, err)
		}
	}
}
