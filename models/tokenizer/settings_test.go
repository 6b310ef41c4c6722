package tokenizer

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
)

// TestSettings: every key of tokenizer_config.json is known, or an error that names it.
func TestSettings(t *testing.T) {
	file := []byte(`{"model":` + tinyModel + `}`)
	for text, item := range map[string]string{
		`{"of_ours": 1}`:                         "of_ours",
		`{"do_lower_case": "yes"}`:               "do_lower_case",
		`{"truncation_side": "middle"}`:          "truncation_side",
		`{"split_special_tokens": true}`:         "split_special_tokens",
		`{"init_inputs": ["a"]}`:                 "init_inputs",
		`{"tokenize_chinese_chars": null}`:       "tokenize_chinese_chars",
		`{"tokenizer_class": 1}`:                 "tokenizer_config.json",
		`{"image_token": "<image>", "vocab": 1}`: "vocab",
	} {
		_, err := FromJSON(file, []byte(text))
		if bad, ok := errors.AsType[*kernel.Error](err); !ok || !strings.HasPrefix(bad.Arg(), settingsFile) || !strings.HasSuffix(bad.Arg(), item) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{
		`{}`, `{"model_max_length": 1000000000000000019884624838656, "tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": true}`,
		`{"image_token": "<image>", "extra_special_tokens": {}, "added_tokens_decoder": {}, "add_bos_token": true, "_commit_hash": "", "sp_model_kwargs": {}, "bos_token_id": 1}`,
		`{"backend": "tokenizers", "is_local": true, "local_files_only": true, "do_basic_tokenize": false, "never_split": null, "legacy": false}`,
	} {
		if _, err := FromJSON(file, []byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestClasses: the class comes from tokenizer_config.json or config.json, as AutoTokenizer of
// transformers 5.24 finds it.
func TestClasses(t *testing.T) {
	for _, c := range []struct {
		name  string // in tokenizer_config.json
		model modelSettings
		want  class
	}{
		{"BertTokenizer", modelSettings{}, bertKind},
		{"BertTokenizerFast", modelSettings{Model: "xlm-roberta"}, bertKind},
		{"", modelSettings{Model: "bert"}, bertKind},
		{"", modelSettings{Model: "bert", Class: "XLMRobertaTokenizer"}, unigramKind},
		{"PreTrainedTokenizerFast", modelSettings{Model: "bert"}, generic},
		{"TokenizersBackend", modelSettings{Model: "bert"}, generic},
		{"BertTokenizer", modelSettings{Model: "modernbert"}, generic},
		{"GPT2Tokenizer", modelSettings{Model: "llama"}, byteLevelKind},
		{"GPT2Tokenizer", modelSettings{Model: "phi3"}, generic},
		{"", modelSettings{Model: "qwen3"}, byteLevelKind},
		{"", modelSettings{Model: "deberta-v2"}, debertaKind},
		{"", modelSettings{}, generic},
		{"LlamaTokenizer", modelSettings{Model: "llama"}, generic},
	} {
		if got := c.model.class(c.name); got != c.want {
			t.Errorf("%q for %+v: class %d, want %d", c.name, c.model, got, c.want)
		}
	}
}

// TestUntagged: a model without a type is the one that tokenizers 0.23 takes it for.
func TestUntagged(t *testing.T) {
	const ids = `"vocab": {"[UNK]": 0, "a": 1, "b": 2, "ab": 3}`
	for model, want := range map[string][]int32{
		`{` + ids + `, "merges": [["a", "b"]]}`: {3},
		`{"dropout": null, "unk_token": "", "continuing_subword_prefix": "", "end_of_word_suffix": "", ` + ids + `, "merges": ["a b"]}`: {3},
		`{"unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, ` + ids + `}`:                       {3},
		`{"vocab": [["<unk>", 0], ["a", -1], ["b", -1], ["ab", -1.5]], "unk_id": 0}`:                                                    {3},
		`{"unk_token": "[UNK]", "continuing_subword_prefix": "##", ` + ids + `}`:                                                        nil, // WordLevel
		`{"unk_token": "[UNK]", ` + ids + `, "merges": null}`:                                                                           nil,
		`{` + ids + `}`: nil,
		`{"type": "", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, ` + ids + `}`: nil,
	} {
		k, err := FromJSON([]byte(`{"model": `+model+`}`), nil)
		if want == nil {
			if bad, ok := errors.AsType[*kernel.Error](err); !ok || !strings.HasSuffix(bad.Arg(), "model.type") {
				t.Errorf("%s: %v", model, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", model, err)
		} else if got := k.Encode("ab", Options{}); !slices.Equal(got, want) {
			t.Errorf("%s: ids %d, want %d", model, got, want)
		}
	}
}

// TestLower: letters become lower case, tokens that are written in a text stay.
func TestLower(t *testing.T) {
	const added = `"added_tokens": [{"id": 2, "content": "[SEP]", "special": true}], "pre_tokenizer": {"type": "WhitespaceSplit"}, `
	for _, normalizer := range []string{"", `"normalizer": {"type": "BertNormalizer", "lowercase": false}, `, `"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "Lowercase"}]}, `} {
		file := `{` + added + normalizer + `"model": ` + tinyModel + `}`
		k, err := FromJSON([]byte(file), nil)
		if err != nil {
			t.Fatal(err)
		}
		low, err := k.Lower()
		if err != nil {
			t.Fatal(err)
		}
		deberta, err := FromJSON([]byte(file), []byte(`{"tokenizer_class": "DebertaV2TokenizerFast", "do_lower_case": true}`))
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range []*Tokenizer{low, deberta} {
			if got := k.Encode("AB [SEP] a", Options{}); !slices.Equal(got, []int32{5, 2, 3}) {
				t.Errorf("%s: ids %d", normalizer, got)
			}
		}
	}
}

// TestLeft: a text that is too long loses its beginning, and so do both of a pair, as with
// tokenizers 0.23.
func TestLeft(t *testing.T) {
	file := []byte(`{"pre_tokenizer": {"type": "WhitespaceSplit"}, "model": ` + tinyModel + `}`)
	k, err := FromJSON(file, []byte(`{"truncation_side": "left"}`))
	if err != nil {
		t.Fatal(err)
	}
	const a, b = "a a a b b", "b a ab"
	if got := k.Encode(a, Options{Limit: 3}); !slices.Equal(got, []int32{3, 4, 4}) {
		t.Errorf("ids %d", got)
	}
	if got := k.EncodeParts([]Part{{Text: a}, {Text: " " + b, Special: true}}, Options{Limit: 4}); !slices.Equal(got, []int32{4, 4, 3, 5}) {
		t.Errorf("ids of parts %d", got)
	}
	for limit, want := range map[int][]int32{8: {3, 3, 3, 4, 4, 4, 3, 5}, 7: {3, 3, 4, 4, 4, 3, 5}, 5: {3, 4, 4, 3, 5}, 4: {4, 4, 3, 5}, 3: {4, 4, 5}, 0: {3, 3, 3, 4, 4, 4, 3, 5}} {
		if got, _ := k.EncodePair(a, b, Options{Limit: limit}); !slices.Equal(got, want) {
			t.Errorf("a pair of %d: ids %d, want %d", limit, got, want)
		}
	}
}
