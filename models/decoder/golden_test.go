package decoder

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/internal/tinyllama"
)

// hash returns the SHA-256 of the bits of numbers, little-endian.
func hash(x []float32) string {
	h := sha256.New()
	var b [4]byte
	for _, v := range x {
		binary.LittleEndian.PutUint32(b[:], math.Float32bits(v))
		h.Write(b[:])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// The bits of the tiny model are the same on every CPU, with every type of weights and of
// caches.
func TestGolden(t *testing.T) {
	all := func(kind gguf.Type) func(string) gguf.Type { return func(string) gguf.Type { return kind } }
	for _, x := range []struct {
		name  string
		of    func(name string) gguf.Type
		cache kernel.DType
		int8  bool
		want  string
	}{
		{"F32", nil, kernel.Float32, false, "43f20eb2743c4a81d8dfad5e6e4dc64c6682a093db74ac4375c3bf5d750abbc7"},
		{"F32, cache of int8", nil, kernel.Int8, false, "e7e0c37974094d7dfe550c2e63aa9f15a7e418c07227d21b005a934605602f7a"},
		{"F16, cache of float16", all(gguf.F16), kernel.Float16, false, "9786b88656869cf220dad974c5b8b821ada715d058517389d034935aa020fece"},
		{"BF16, cache of bfloat16", all(gguf.BF16), kernel.BFloat16, false, "578ec9e1896ee2c4c254b529b7f611c1c4ffbbec39a808737e4fb3d1253bb2a8"},
		{"Q8_0", all(gguf.Q8_0), kernel.Float32, false, "b7c33ffd2f8699067314e5b041775d748c1f6df324a45bf881d3135c3b4a13dd"},
		{"Q4_0", all(gguf.Q4_0), kernel.Float32, false, "17582a5f8e0e84d029e1dfa286943ccf334342e145f03809ae00af6ce60e79eb"},
		{"Q4_1, embedding of Q8_0", func(name string) gguf.Type {
			if name == embeddingName {
				return gguf.Q8_0
			}
			return gguf.Q4_1
		}, kernel.Float32, false, "c8183f6aaf38139db73eba32e7fd76cbc8d79556d99189242759f1b03c904308"},
		{"Q8_0, int8", all(gguf.Q8_0), kernel.Float32, true, "b5defab6314b965fd9bb93e48aefea2ebce491f2091000eaabe8bdcd60201bf7"},
		{"Q4_0, int8", all(gguf.Q4_0), kernel.Float32, true, "844258a35942728d399cfe1a5332246e126ea2237a50c4f4bc61a486f2dd1a35"},
		{"Q4_1, int8", all(gguf.Q4_1), kernel.Float32, true, "808f29e22a8d6d9a421a28f1abfa3538171123ab3debab31fe83608ed10f65f3"},
	} {
		m, err := loadTiny(tinyllama.New(x.of), Options{Exec: kernel.Exec{Threads: 1}, CacheType: x.cache, Int8: x.int8})
		if err != nil {
			t.Fatal(err)
		}
		s := session(t, m, 1, 300)
		logits := forward(t, s, Step{Text: s.NewText(), Tokens: prompt(300, 1), Logits: All})[0]
		if got := hash(logits); got != x.want {
			t.Errorf("%s: logits have the hash %s, want %s", x.name, got, x.want)
		}
	}
}

// So are those of the real model, on every tier, and its text.
func TestGoldenReal(t *testing.T) {
	const wantHash = "daedd846d6864fda99858d02884020f0b9c43731b524b66b0b5e781704ffa437"
	const wantText = " Paris.\n"
	model := smollm2(t)
	prompt := []int32{504, 3575, 282, 4649, 314} // The capital of France is
	for _, tier := range kernel.Tiers() {
		if !tier.Runs || testing.Short() && !tier.Default {
			continue
		}
		m, err := model.With(Options{Exec: kernel.Exec{Tier: tier.Name}})
		if err != nil {
			t.Fatal(err)
		}
		s := session(t, m, 1, 16)
		if got := hash(forward(t, s, Step{Text: s.NewText(), Tokens: prompt, Logits: All})[0]); got != wantHash {
			t.Errorf("%s: logits have the hash %s, want %s", tier.Name, got, wantHash)
		}
		text := ""
		for token, err := range m.Generate(t.Context(), prompt, GenerateOptions{MaxTokens: 3}) {
			if err != nil {
				t.Fatal(err)
			}
			text += token.Text
		}
		if text != wantText {
			t.Errorf("%s: text %q, want %q", tier.Name, text, wantText)
		}
	}
}
