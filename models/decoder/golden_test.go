package decoder

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/internal/tinyllama"
	"github.com/attn-go/attn/models/precision"
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
	const unrotated = "F32, cache of int4 that is not rotated"
	all := func(kind gguf.Type) func(string) gguf.Type { return func(string) gguf.Type { return kind } }
	for _, x := range []struct {
		name      string
		of        func(name string) gguf.Type
		cache     kernel.DType
		precision precision.Precision
		want      string
	}{
		{"F32", nil, kernel.Float32, precision.Float32, "43f20eb2743c4a81d8dfad5e6e4dc64c6682a093db74ac4375c3bf5d750abbc7"},
		{"F32, cache of int8", nil, kernel.Int8, precision.Float32, "e7e0c37974094d7dfe550c2e63aa9f15a7e418c07227d21b005a934605602f7a"},
		{"F32, cache of int4", nil, kernel.Int4, precision.Float32, "69e7cc237f3bbb57fde7b5a92c9a4e460b9c2a24f8e7a35806206dddbc935a10"},
		{unrotated, nil, kernel.Int4, precision.Float32, "1d4b5087451df39ef1c5f6d9e9e050c0ff2d0d2732bd3bcbe99897e3e3486a39"},
		{"F16, cache of float16", all(gguf.F16), kernel.Float16, precision.Float32, "9786b88656869cf220dad974c5b8b821ada715d058517389d034935aa020fece"},
		{"BF16, cache of bfloat16", all(gguf.BF16), kernel.BFloat16, precision.Float32, "578ec9e1896ee2c4c254b529b7f611c1c4ffbbec39a808737e4fb3d1253bb2a8"},
		{"Q8_0", all(gguf.Q8_0), kernel.Float32, precision.Float32, "b7c33ffd2f8699067314e5b041775d748c1f6df324a45bf881d3135c3b4a13dd"},
		{"Q4_0", all(gguf.Q4_0), kernel.Float32, precision.Float32, "17582a5f8e0e84d029e1dfa286943ccf334342e145f03809ae00af6ce60e79eb"},
		{"Q4_1, embedding of Q8_0", func(name string) gguf.Type {
			if name == embeddingName {
				return gguf.Q8_0
			}
			return gguf.Q4_1
		}, kernel.Float32, precision.Float32, "c8183f6aaf38139db73eba32e7fd76cbc8d79556d99189242759f1b03c904308"},
		{"Q5_0", all(gguf.Q5_0), kernel.Float32, precision.Float32, "24fe8ad8bc76035fafa8ff9ca092654e29a1f846ce360100d21e828e4e933657"},
		{"Q5_0, int8", all(gguf.Q5_0), kernel.Float32, precision.Int8, "ad03d23dc6cc739262ee6d5d6c2c9e267b4eafd1c20d5429d41fabecdded4747"},
		{"Q8_0, int8", all(gguf.Q8_0), kernel.Float32, precision.Int8, "b5defab6314b965fd9bb93e48aefea2ebce491f2091000eaabe8bdcd60201bf7"},
		{"Q4_0, int8", all(gguf.Q4_0), kernel.Float32, precision.Int8, "844258a35942728d399cfe1a5332246e126ea2237a50c4f4bc61a486f2dd1a35"},
		{"Q4_1, int8", all(gguf.Q4_1), kernel.Float32, precision.Int8, "808f29e22a8d6d9a421a28f1abfa3538171123ab3debab31fe83608ed10f65f3"},
		{"F32, bf16", nil, kernel.Float32, precision.BFloat16, "12b95dc4a4bf74d31cb775be31d260bb801c345d516938098acb55216dd1b3fb"},
		{"BF16, bf16", all(gguf.BF16), kernel.Float32, precision.BFloat16, "12b95dc4a4bf74d31cb775be31d260bb801c345d516938098acb55216dd1b3fb"},
	} {
		m, err := loadTiny(tinyllama.New(x.of), Options{Exec: kernel.Exec{Threads: 1}, CacheType: x.cache, Precision: x.precision, Unrotated: x.name == unrotated})
		if err != nil {
			t.Fatal(err)
		}
		s := session(t, m, 1, 300)
		logits := forward(t, s, Step{Text: s.NewText(), Tokens: prompt(300, 1), Logits: LogitsAll})[0]
		if got := hash(logits); got != x.want {
			t.Errorf("%s: logits have the hash %s, want %s", x.name, got, x.want)
		}
	}
}

// So are the logits of every architecture, on every tier: for the texts of testdata/tiny.
func TestGoldenArchitectures(t *testing.T) {
	for name, want := range map[string]string{
		"deepseek_v3-31":      "3e9850a8a13e5b72423cb4c76919824d7a8d5a63694039083a3627a18ed78b45",
		"glm4_moe-25":         "61a09b1a7129bb4c1f20ed429be87252ec100f5cbee5f8504ae31a104208553e",
		"glm4_moe_lite-32":    "f8c4c4de3823219ac9e8c96f86a279ca82840d42e0b05bba917d83ea5abc5b63",
		"gpt_oss-32":          "b21d9f95be070c367d439ee40ed70cf441e28421cafadf3ab8ad1506ce5605f6",
		"gpt_oss-mxfp4-32":    "478e934c2a4b5cff756aeef7e3507b6c3855f5bca520c99dbe55fa20cf31b6e9",
		"granitemoe-32":       "bb952727cd18d78277293ae9c97291757219d735b287142b2470f20c80106e55",
		"granitemoehybrid-41": "fc532fee980fcc8f93bd7e232630bf4a29ac091d7e2f7397bf3db1719d00a87b",
		"granitemoehybrid-42": "e138ca9e09c3eddf7583b8c8b37b2c6d9302fb0012f95f8e940771f660fa407e",
		"nemotron_h-41":       "6ff553135afa037346f62a754c5c9e8978d451a95bef2eff7c0ffb3b83cd2aa1",
		"lfm2_moe-32":         "48c4456bb960e35631e90b3e10225b73a7a3c83a90b9c07b2aa7c9bf384337e0",
		"minimax_m2-36":       "e0b8d711f8b3b9dcad3725796ff2400893b8f1b33a6ba4c60acca2d0fac5a67e",
		"mixtral-36":          "9a78cbb3547ca3abb1cf9386f8478dae06d058d142389cbfd98a8d013ba3c06a",
		"olmoe-55":            "45c25b39ec91077225992b093d1fd2c773195e84e2fb9f647d2299a5f5c75e88",
		"qwen2_moe-55":        "a7c248614ba3944a66a798f778eaea99ad7671a91838139b1bfeef2aaa4d9e29",
		"gemma3n-67":          "6c188ff2ae34693d5fdba4a05976ac2abd323a9aaea205fa74b21257af42ed7d",
		"gemma2-2":            "f635715369af66fd400447ec71b9844ec6afe10e5d3041a3116a6f9946e4dfef",
		"gemma3-6":            "9a82b9ee29ff4c2685d634b04786fa96645dda1f87e126bb5e18f2e5829aea9d",
		"gemma3-whole-2":      "4978bbebc10e22c7b6b06844f96cf90c5290362bdd7cb78d796d90206d26b020",
		"llama-2":             "7fea667870aa9ba99b3aa789b3a0ef1175470f2a11cfa3b4083adebb412f2274",
		"llama-linear-2":      "8d5316a4443f68d2d5cfb3145f41feb36de8229af59a2c50af7583bc65e7ec0b",
		"llama-llama3-2":      "209f940222c8f5c0de46e8cbbe6a94df2f967b091d9859f864251df2e1738062",
		"mistral-2":           "04eee37608b1382144b79e525812f73703724f8c9a4656a3015e360ade662db1",
		"phi3-2":              "bed6a4f5855c54e8f06a088cd68db627954e975fde6e8b7ea07512667398b662",
		"phi3-long-2":         "0b4542ce6e8c1817542e32a7a9295103a5e7658c0066547f1f9229235abb2530",
		"phi3-short-2":        "671946ddf42d982ec68bd9dba5ccc2803592171a75b9be0d893251f1b1d75417",
		"qwen2-2":             "2438d8d89a8846c8db4e5200d3e0ee7134c10d44303e00fccc0b55172f736708",
		"qwen3-2":             "c7c79bb24bbb3db70e027e2316c7c0a28c86aee1c9652097e36ef5ed5eceb962",
		"qwen3-embedding-2":   "86fb1a36a506ec8e862c6610c3f57373f8836e20721dc53fc6533b039f4caea4",
		"qwen3-yarn-2":        "1910f4cd5838e0457d8fb15c3d46dbc3ac8c308c09386021e6914ef43790412c",
		"qwen3_moe-2":         "21e1164853c441e7f5567588328b9ee36050a606ab69d78e0fffe210b55ca66c",
	} {
		// An embedder has no output matrix: its logits here are products with its embedding.
		use := generates
		if name == "qwen3-embedding-2" {
			use = embeds
		}
		_, model, err := load(filepath.Join(filepath.Dir(tinyFolders), name), use, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, tier := range kernel.Tiers() {
			m, err := model.With(Options{Exec: kernel.Exec{Tier: tier}})
			if err != nil {
				t.Fatal(err)
			}
			s := session(t, m, 1, 100)
			ids := prompt(100, 1)
			if got := hash(forward(t, s, Step{Text: s.NewText(), Tokens: ids, Logits: LogitsAll})[0]); got != want {
				t.Errorf("%s, %s: logits have the hash %s, want %s", name, tier, got, want)
			}
		}
	}
}

// So are the vectors of models of embeddings.
func TestGoldenEmbedders(t *testing.T) {
	for name, want := range map[string]string{
		"embeddinggemma-2":  "78190b354895ba5382446be17c454b04a11a05ad50730d9b300399ab6a20390a",
		"qwen3-embedding-2": "c6ecde409f7af6428ba32ee3b3f60117082f73d7cc430cea1e5e120f01b61d50",
	} {
		dir := filepath.Join(filepath.Dir(tinyFolders), name)
		e, err := LoadEmbedder(dir, embedding.LoadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, tier := range kernel.Tiers() {
			vectors, err := e.With(embedding.Options{Exec: kernel.Exec{Tier: tier}}).EmbedTokens(t.Context(), readTiny(t, dir).IDs)
			if err != nil {
				t.Fatal(err)
			}
			if got := hash(slices.Concat(vectors...)); got != want {
				t.Errorf("%s, %s: vectors have the hash %s, want %s", name, tier, got, want)
			}
		}
	}
}

// So are the logits of the real model, on every tier, and its text.
func TestGoldenReal(t *testing.T) {
	const wantHash = "daedd846d6864fda99858d02884020f0b9c43731b524b66b0b5e781704ffa437"
	const wantText = " Paris.\n"
	model := smollm2(t)
	prompt := []int32{504, 3575, 282, 4649, 314} // The capital of France is
	for _, tier := range kernel.Tiers() {
		if testing.Short() && !isDefault(tier) {
			continue
		}
		m, err := model.With(Options{Exec: kernel.Exec{Tier: tier}})
		if err != nil {
			t.Fatal(err)
		}
		s := session(t, m, 1, 16)
		if got := hash(forward(t, s, Step{Text: s.NewText(), Tokens: prompt, Logits: LogitsAll})[0]); got != wantHash {
			t.Errorf("%s: logits have the hash %s, want %s", tier, got, wantHash)
		}
		text := ""
		for token, err := range m.Generate(t.Context(), prompt, GenerateOptions{MaxTokens: 3}) {
			if err != nil {
				t.Fatal(err)
			}
			text += token.Text
		}
		if text != wantText {
			t.Errorf("%s: text %q, want %q", tier, text, wantText)
		}
	}
}
