package tokenizer

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
)

const (
	tinyVocab = `{"[UNK]":0,"[CLS]":1,"[SEP]":2,"a":3,"b":4,"ab":5}`
	tinyModel = `{"type":"WordPiece","unk_token":"[UNK]","max_input_chars_per_word":100,"vocab":` + tinyVocab + `}`
)

// Whatever a file has that is not supported is an error that names it and says what is.
func TestErrors(t *testing.T) {
	bpe := func(more string) string { return `{"model":{"type":"BPE","vocab":` + tinyVocab + more + `}}` }
	deep := strings.Repeat(`{"type":"Sequence","normalizers":[`, 10) + `{"type":"NFC"}` + strings.Repeat("]}", 10)
	for _, c := range []struct{ file, item, got string }{
		{`[]`, "tokenizer.json", "array"},
		{`{}`, "model", "none"},
		{`{"model":{"type":"WordLevel"}}`, "model.type", "WordLevel"},
		{`{"model":{"type":"WordPiece","vocab":[]}}`, "model.vocab", "array"},
		{`{"model":{"type":"WordPiece","vocab":{"a":0}}}`, "model.unk_token", "none"},
		{`{"model":{"type":"WordPiece","unk_token":"b","vocab":{"a":0}}}`, "model.unk_token", `"b"`},
		{`{"model":{"type":"WordPiece","unk_token":"a","max_input_chars_per_word":257,"vocab":{"a":0}}}`, "max_input_chars_per_word", "257"},
		{`{"model":{"type":"WordPiece","unk_token":"a","vocab":{"a":0,"b":0}}}`, "model.vocab", "id 0"},
		{`{"model":{"type":"WordPiece","unk_token":"a","vocab":{"a":4000000000}}}`, "model.vocab", "4000000000"},
		{`{"model":{"type":"WordPiece","unk_token":"a","vocab":{"a":-1}}}`, "model.vocab", "-1"},
		{bpe(`,"dropout":0.1`), "model.dropout", "0.1"},
		{bpe(`,"merges":["a c"]`), "model.merges[0]", `"c"`},
		{bpe(`,"merges":[["a"]]`), "model", "1 tokens"},
		{bpe(`,"end_of_word_suffix":"</w>"`), "end_of_word_suffix", "</w>"},
		{bpe(`,"continuing_subword_prefix":"##"`), "continuing_subword_prefix", "##"},
		{`{"model":{"type":"Unigram","vocab":[["a",0]]}}`, "model.unk_id", "none"},
		{`{"model":{"type":"Unigram","unk_id":1,"vocab":[["a",0]]}}`, "model.unk_id", "1"},
		{`{"model":{"type":"Unigram","unk_id":0,"vocab":[["a"]]}}`, "model.vocab", "array of 1"},
		{`{"model":{"type":"Unigram","unk_id":0,"vocab":[["` + strings.Repeat("a", 513) + `",0]]}}`, "model.vocab[0]", "513"},
		{`{"normalizer":{"type":"ByteLevel"},"model":` + tinyModel + `}`, "normalizer.type", "ByteLevel"},
		{`{"normalizer":` + deep + `,"model":` + tinyModel + `}`, "normalizer", "depth 8"},
		{`{"normalizer":{"type":"Sequence","normalizers":[null]},"model":` + tinyModel + `}`, "normalizers[0]", "null"},
		{`{"normalizer":{"type":"Precompiled","precompiled_charsmap":"AAA"},"model":` + tinyModel + `}`, "precompiled_charsmap", "base64"},
		{`{"normalizer":{"type":"Precompiled","precompiled_charsmap":"AQAAAA=="},"model":` + tinyModel + `}`, "precompiled_charsmap", "size"},
		{`{"normalizer":{"type":"Replace","pattern":{"String":""},"content":""},"model":` + tinyModel + `}`, "normalizer.pattern", "neither"},
		{`{"normalizer":{"type":"Replace","pattern":{"Regex":"(?<=a)b"},"content":""},"model":` + tinyModel + `}`, "normalizer.pattern", "(?<"},
		{`{"normalizer":{"type":"Sequence","normalizers":[{"type":"Replace","pattern":{"String":"a"},"content":"` + strings.Repeat("a", 40) + `"},{"type":"Replace","pattern":{"String":"a"},"content":"` + strings.Repeat("a", 40) + `"}]},"model":` + tinyModel + `}`, "normalizers[1]", "times as long"},
		{`{"normalizer":{"type":"Prepend","prepend":"` + strings.Repeat("a", 257) + `"},"model":` + tinyModel + `}`, "normalizer", "Prepend"},
		{`{"pre_tokenizer":{"type":"UnicodeScripts"},"model":` + tinyModel + `}`, "pre_tokenizer.type", "UnicodeScripts"},
		{`{"pre_tokenizer":{"type":"ByteLevel"},"model":` + tinyModel + `}`, "model.type", "ByteLevel"},
		{`{"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"ByteLevel"},{"type":"Metaspace","replacement":"▁"}]},"model":` + tinyModel + `}`, "pretokenizers[1].type", "ByteLevel"},
		{`{"pre_tokenizer":{"type":"Split","pattern":{"String":"a"},"behavior":"x"},"model":` + tinyModel + `}`, "behavior", `"x"`},
		{`{"pre_tokenizer":{"type":"Metaspace","replacement":"ab"},"model":` + tinyModel + `}`, "replacement", `"ab"`},
		{`{"pre_tokenizer":{"type":"Metaspace","replacement":"a","prepend_scheme":"x"},"model":` + tinyModel + `}`, "prepend_scheme", `"x"`},
		{`{"added_tokens":[{"id":9,"content":""}],"model":` + tinyModel + `}`, "added_tokens", "empty"},
		{`{"added_tokens":[{"id":9,"content":"a"}],"model":` + tinyModel + `}`, "added_tokens", "id 9"},
		{`{"added_tokens":[{"id":3,"content":"x"}],"model":` + tinyModel + `}`, "added_tokens", `of "a"`},
		{`{"added_tokens":[{"id":3000000000,"content":"x"}],"model":` + tinyModel + `}`, "added_tokens", "3000000000"},
		{`{"added_tokens":[{"id":9,"content":"` + strings.Repeat("x", 257) + `"}],"model":` + tinyModel + `}`, "added token", "257"},
		{`{"post_processor":{"type":"X"},"model":` + tinyModel + `}`, "post_processor.type", `"X"`},
		{`{"post_processor":{"type":"BertProcessing","cls":["a",3],"sep":["b",99]},"model":` + tinyModel + `}`, "post_processor.sep", "99"},
		{`{"post_processor":{"type":"TemplateProcessing","single":[]},"model":` + tinyModel + `}`, "post_processor.single", `""`},
		{`{"post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"x"}}]},"model":` + tinyModel + `}`, "single[0]", `"x"`},
		{`{"decoder":{"type":"CTC"},"model":` + tinyModel + `}`, "decoder.type", "CTC"},
		{`{"decoder":{"type":"Sequence","decoders":[{"type":"Fuse"},{"type":"ByteFallback"}]},"model":` + tinyModel + `}`, "decoders[1].type", "after Fuse"},
		{`{"decoder":{"type":"Sequence","decoders":[{"type":"ByteLevel"},{"type":"Metaspace","replacement":"▁"}]},"model":` + tinyModel + `}`, "decoders[1].type", "ByteLevel"},
		{`{"decoder":{"type":"Sequence","decoders":[{"type":"Fuse"},{"type":"Replace","pattern":{"Regex":"a+"},"content":"b"}]},"model":` + tinyModel + `}`, "decoders[1].pattern", "after Fuse"},
		{`{"decoder":{"type":"Strip","content":" ","start":-1},"model":` + tinyModel + `}`, "decoder", "-1"},
	} {
		_, err := FromJSON([]byte(c.file), nil)
		e := new(kernel.Error)
		if !errors.As(err, &e) {
			t.Errorf("%.80s: got error %v, want a *kernel.Error about %s", c.file, err, c.item)
			continue
		}
		if !strings.Contains(e.Arg(), c.item) || !strings.Contains(e.Got, c.got) || e.Want == "" {
			t.Errorf("%.80s: got %q, want %s and %s in it", c.file, e, c.item, c.got)
		}
	}
	if _, err := FromJSON([]byte(`{"model":`+tinyModel+`}`), []byte("[]")); !errors.As(err, new(*kernel.Error)) {
		t.Errorf("settings that are an array: got error %v", err)
	}
}

func TestErrorsOfFolders(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"neither tokenizer.json nor vocab.txt": {},
		"no token [CLS]":                       {"vocab.txt": "[UNK]\n[SEP]\n"},
		"after token":                          {"vocab.txt": "[UNK]\n[CLS]\n[SEP]\n[SEP]\n"},
		"not UTF-8":                            {"vocab.txt": "\xff"},
		"do_basic_tokenize":                    {"vocab.txt": "[UNK]\n[CLS]\n[SEP]\n", "tokenizer_config.json": `{"do_basic_tokenize":false}`},
	} {
		dir := t.TempDir()
		for file, text := range files {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Load(dir); !errors.As(err, new(*kernel.Error)) || !strings.Contains(err.Error(), name) {
			t.Errorf("got error %v, want a *kernel.Error with %q", err, name)
		}
	}
}

func TestErrorsOfGGUF(t *testing.T) {
	base := func() (m metadata) {
		m.set("tokens", []string{"<unk>", "<s>", "a"})
		return m
	}
	for name, change := range map[string]func(m *metadata){
		`"rwkv"`:           func(m *metadata) { m.set("model", "rwkv") },
		"bert, gemma4":     func(m *metadata) { m.set("model", "x") },
		"scores":           func(m *metadata) { m.set("model", "llama") },
		"UTF-8":            func(m *metadata) { *m = nil; m.set("tokens", []string{"a", "\xff"}); m.set("model", "gpt2") },
		"2 values":         func(m *metadata) { m.set("model", "llama"); m.set("scores", []float32{1, 2}) },
		"unknown_token_id": func(m *metadata) { m.set("model", "t5"); m.set("scores", []float32{1, 2, 3}) },
		"bos_token_id":     func(m *metadata) { m.set("model", "llama"); m.set("scores", []float32{1, 2, 3}) },
		"0 to 2": func(m *metadata) {
			m.set("model", "llama")
			m.set("scores", []float32{1, 2, 3})
			m.set("bos_token_id", uint32(3))
		},
		"type of token 1": func(m *metadata) { m.set("model", "llama"); m.set("token_type", []int32{1, 7, 1}) },
		"llama-bpe":       func(m *metadata) { m.set("model", "gpt2"); m.set("merges", []string{}); m.set("pre", "x") },
		"merge 0":         func(m *metadata) { m.set("model", "gpt2"); m.set("merges", []string{"a b"}); m.set("pre", "gpt-2") },
		"no token [UNK]":  func(m *metadata) { m.set("model", "bert") },
		"compiled": func(m *metadata) {
			m.set("model", "t5")
			m.set("scores", []float32{1, 2, 3})
			m.set("unknown_token_id", uint32(0))
			m.set("precompiled_charsmap", []uint8{1, 2})
		},
	} {
		m := base()
		change(&m)
		_, err := FromGGUF(m.file(t))
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got error %v, want one with %q", err, name)
		}
	}
}

// Texts on which quadratic time would show, as this test would then take minutes, have ids of every
// kind.
func TestLongTexts(t *testing.T) {
	texts := map[string]string{
		"letters": strings.Repeat("ab", 1<<17), "spaces": strings.Repeat(" ", 1<<18), "marks": "a" + strings.Repeat("\u0301\u0323", 1<<16),
		"lines": strings.Repeat("\n", 1<<18), "special": strings.Repeat("[SEP", 1<<16), "broken": strings.Repeat("\xf0\x9f", 1<<17),
	}
	for _, name := range []string{"bert", "steps", "gpt2", "llama3", "gpt4o", "deepseek", "unigram", "unigram-whole", "charsmap", "llama2", "gemma"} {
		tok := fromFile(t, name)
		for what, text := range texts {
			ids := tok.Encode(text, Options{})
			if len(ids) == 0 && name != "steps" && what != "spaces" || len(ids) > 2*len(text)+8 {
				t.Errorf("%s: %s: %d ids of %d bytes", name, what, len(ids), len(text))
			}
		}
	}
}
