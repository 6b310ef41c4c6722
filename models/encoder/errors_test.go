package encoder

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/encoder/berttest"
)

// TestModelErrors damages a model in one way each, and expects an error that says which.
func TestModelErrors(t *testing.T) {
	const query = "encoder.layer.1.attention.self.query"
	set := func(key string, v any) func(s *small) { return func(s *small) { s.Config[key] = v } }
	for _, c := range []struct {
		damage          func(s *small)
		name, got, want string
	}{
		{set("hidden_size", 0), "hidden_size", "0", "an integer from 1 to 1048576"},
		{set("vocab_size", 1<<21), "vocab_size", "2097152", "an integer from 1 to 1048576"},
		{set("num_attention_heads", 5), "num_attention_heads", "5", "a divisor of the width 24"},
		{set("num_hidden_layers", 3), "encoder.layer.2.attention.self.query.weight", "nothing", "F32, F16 or BF16 [24 24]"},
		{set("intermediate_size", 41), "encoder.layer.0.intermediate.dense.weight", "F32 [40 24]", "F32, F16 or BF16 [41 24]"},
		{set("max_position_embeddings", 1), "max_position_embeddings", "1", "2 or more, for the tokens around a text"},
		{set("model_type", "gpt2"), "model_type", `"gpt2"`, "an encoder: albert, bert, camembert, deberta-v2, distilbert, electra, embedding_gemma2, embedding_gemma2_text, eurobert, gte, jina_embeddings_v3, modernbert, mpnet, new, nomic_bert, roberta, t5, xlm-roberta"},
		{set("is_decoder", true), "is_decoder", "true", "false; others are not supported"},
		{set("position_embedding_type", "relative_key"), "position_embedding_type", `"relative_key"`, `"absolute" or "alibi"`},
		{set("hidden_act", "mish"), "hidden_act", `"mish"`, "gelu, gelu_fast, gelu_new, gelu_python, gelu_pytorch_tanh, gelu_tanh, relu, relu2, silu, swish"},
		{set("layer_norm_eps", -1), "layer_norm_eps", "-1", "a number from 0 to 3.4028234663852886e+38"},
		{func(s *small) { delete(s.Tensors, query+".bias") }, query + ".bias", "nothing", "F32, F16 or BF16 [24]"},
		{func(s *small) { s.Tensors[query+".weight"] = s.Tensors[query+".bias"] }, query + ".weight", "F32 [24]", "F32, F16 or BF16 [24 24]"},
		{func(s *small) { s.Tensors["classifier.weight"] = s.Tensors[query+".bias"] }, "classifier.weight", "F32 [24]", "an embedding model; this one is for LoadReranker"},
		{func(s *small) { s.Tensors["extra"] = s.Tensors[query+".bias"] }, "extra", "F32 [24]", "only tensors that this architecture is known to have"},
		{func(s *small) { s.Vocab = append(s.Vocab, "d") }, "vocab_size", "9", "at least 10, the tokens of the tokenizer"},
		{func(s *small) { s.Extra["1_Pooling/config.json"] = `{"pooling_mode": "median"}` }, "pooling_mode", `"median"`, "one of cls, mean, mean_sqrt_len_tokens, max, lasttoken, weightedmean, or a list of them"},
	} {
		s := newSmall("")
		c.damage(s)
		_, err := Load(s.write(t, "F32"), LoadOptions{})
		var e *kernel.Error
		if !errors.As(err, &e) {
			t.Errorf("%s: got %v, want a kernel.Error", c.name, err)
			continue
		}
		if e.Arg() != c.name || e.Got != c.got || e.Want != c.want {
			t.Errorf("got %v,\nwant %s: got %s, want %s", e, c.name, c.got, c.want)
		}
	}
	var e *kernel.Error
	if _, err := Load(newSmall("").write(t, "I32"), LoadOptions{}); !errors.As(err, &e) || !strings.HasPrefix(e.Got, "I32") {
		t.Errorf("weights of integers: got %v", err)
	}
}

// TestFileErrors expects errors that name the file that is missing or damaged.
func TestFileErrors(t *testing.T) {
	for _, name := range []string{"config.json", "model.safetensors", "vocab.txt"} {
		dir := newSmall("").write(t, "F32")
		path := filepath.Join(dir, name)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		_, err := Load(dir, LoadOptions{})
		if name == "vocab.txt" { // tokenizer.json would do as well
			if !errors.As(err, new(*kernel.Error)) {
				t.Errorf("no %s: got %v", name, err)
			}
		} else if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), dir) {
			t.Errorf("no %s: got %v", name, err)
		}
		if err := os.WriteFile(path, []byte("{"), 0o666); err != nil {
			t.Fatal(err)
		}
		_, err = Load(dir, LoadOptions{})
		if err == nil || !strings.Contains(err.Error(), dir) {
			t.Errorf("a damaged %s: got %v", name, err)
		}
	}
}

// TestArguments expects errors of bad ids and options.
func TestArguments(t *testing.T) {
	e := loadSmall(t, newSmall(""), "F32")
	for _, c := range []struct {
		opts Options
		ids  [][]int32
		arg  string
	}{
		{Options{BatchTokens: -1}, nil, "Options.BatchTokens"},
		{Options{Exec: kernel.Exec{Threads: -1}}, [][]int32{{1}}, "Options.Threads"},
		{Options{}, [][]int32{{2, 3}, {}}, "ids[1]"},
		{Options{}, [][]int32{make([]int32, berttest.Positions+1)}, "ids[0]"},
		{Options{}, [][]int32{{2, 9}}, "ids[0][1]"},
		{Options{}, [][]int32{{2, -1}}, "ids[0][1]"},
		{Options{}, [][]int32{{math.MinInt32}}, "ids[0][0]"},
	} {
		got, err := e.With(c.opts).EmbedTokens(t.Context(), c.ids)
		var bad *kernel.Error
		if !errors.As(err, &bad) || bad.Arg() != c.arg || got != nil {
			t.Errorf("%+v, %v: got %v, want an error about %s", c.opts, c.ids, err, c.arg)
		}
	}
	if _, err := e.HiddenStates(t.Context(), nil); err == nil {
		t.Error("states of no tokens: no error")
	}
}
