package wordpiece_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/models/internal/testweights"
	"github.com/attn-go/attn/models/tokenizer/wordpiece"
)

// small is a vocabulary for tests that need no model.
var small = []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "un", "##aff", "##able", "##a", "E", "e", "É", "é", "中", "中文", ".", "##"}

func words(t *testing.T, tok *wordpiece.Tokenizer, text string, limit int) string {
	t.Helper()
	ids := tok.Encode(text, limit)
	tokens := make([]string, len(ids))
	for i, id := range ids {
		tokens[i] = tok.Token(id)
	}
	return strings.Join(tokens, " ")
}

func TestOptions(t *testing.T) {
	for _, test := range []struct {
		text, want string
		opts       wordpiece.Options
	}{
		{"Unaffable.", "[CLS] un ##aff ##able . [SEP]", wordpiece.Options{}},
		{"Unaffable.", "[CLS] [UNK] . [SEP]", wordpiece.Options{KeepCase: true}},
		{"Éé", "[CLS] [UNK] [SEP]", wordpiece.Options{}},
		{"É é", "[CLS] E e [SEP]", wordpiece.Options{KeepCase: true}},
		{"É é", "[CLS] é é [SEP]", wordpiece.Options{KeepAccents: true}},
		{"É é", "[CLS] É é [SEP]", wordpiece.Options{KeepCase: true, KeepAccents: true}},
		{"中文", "[CLS] 中 [UNK] [SEP]", wordpiece.Options{}},
		{"中文", "[CLS] 中文 [SEP]", wordpiece.Options{KeepCJK: true}},
		{"e[MASK]e", "[CLS] e [MASK] e [SEP]", wordpiece.Options{}},
		{"e[MASK]e", "[CLS] e [UNK] [UNK] [UNK] e [SEP]", wordpiece.Options{PlainText: true}},
		{"unaffa", "[CLS] un ##aff ##a [SEP]", wordpiece.Options{MaxWord: 6}},
		{"unaffa", "[CLS] [UNK] [SEP]", wordpiece.Options{MaxWord: 5}},
		{"e\x80\xffe\u0301", "[CLS] [UNK] [SEP]", wordpiece.Options{}},
		{"e \xff\ufffd\x00", "[CLS] e [SEP]", wordpiece.Options{}},
		{"##", "[CLS] [UNK] [UNK] [SEP]", wordpiece.Options{}},
	} {
		tok, err := wordpiece.New(small, test.opts)
		if err != nil {
			t.Fatal(err)
		}
		if got := words(t, tok, test.text, 0); got != test.want {
			t.Errorf("%+v: %q: got %q, want %q", test.opts, test.text, got, test.want)
		}
	}
}

// [CLS] and [SEP] remain, whatever the limit. A word may be cut within.
func TestLimit(t *testing.T) {
	tok, err := wordpiece.New(small, wordpiece.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for limit, want := range []string{
		"[CLS] e un ##aff ##able . [SEP]", "[CLS] [SEP]", "[CLS] [SEP]", "[CLS] e [SEP]", "[CLS] e un [SEP]", "[CLS] e un ##aff [SEP]",
	} {
		if got := words(t, tok, "e unaffable.", limit); got != want {
			t.Errorf("limit %d: got %q, want %q", limit, got, want)
		}
	}
	if got := tok.Token(-1) + tok.Token(int32(tok.Len())); got != "" {
		t.Errorf("tokens of ids that there are not: got %q", got)
	}
}

// Both files of a folder give the same tokenizer.
func TestVocabTxt(t *testing.T) {
	from := testweights.Path(t, testweights.MiniLM)
	dir := t.TempDir()
	for _, name := range [...]string{"vocab.txt", "tokenizer_config.json"} {
		data, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, name), string(data))
	}
	tok, err := wordpiece.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	checkTexts(t, tok, filepath.Join("..", "..", "testdata", "minilm", "embeddings.json"))
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func checkError(t *testing.T, err error, item, got string) {
	t.Helper()
	var e *wordpiece.ConfigError
	if !errors.As(err, &e) || !strings.Contains(e.Item, item) || !strings.Contains(e.Got, got) || e.Want == "" {
		t.Errorf("got error %v, want one of %s with %s", err, item, got)
	}
}

func TestNewErrors(t *testing.T) {
	change := func(i int, s string) []string {
		v := slices.Clone(small)
		v[i] = s
		return v
	}
	for _, test := range []struct {
		vocab     []string
		opts      wordpiece.Options
		item, got string
	}{
		{nil, wordpiece.Options{}, "vocabulary", "0 tokens"},
		{change(5, ""), wordpiece.Options{}, "token 5", "empty"},
		{change(6, "un"), wordpiece.Options{}, "token 6", `"un" as token 5`},
		{change(1, "x"), wordpiece.Options{}, "vocabulary", "no token [UNK]"},
		{change(2, "x"), wordpiece.Options{}, "vocabulary", "no token [CLS]"},
		{change(3, "x"), wordpiece.Options{}, "vocabulary", "no token [SEP]"},
		{small, wordpiece.Options{MaxWord: -1}, "MaxWord", "-1"},
		{small, wordpiece.Options{MaxWord: 257}, "MaxWord", "257"},
	} {
		_, err := wordpiece.New(test.vocab, test.opts)
		checkError(t, err, test.item, test.got)
	}
}

// tokenizerJSON is a tokenizer that is right.
const tokenizerJSON = `{"added_tokens": [{"id": 3, "content": "[MASK]", "special": true}, {"id": 5, "content": "[NEW]"}],
	"normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": false},
	"pre_tokenizer": {"type": "BertPreTokenizer"}, "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]},
	"model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
		"vocab": {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "[MASK]": 3, "E": 4}}}`

func TestTokenizerJSON(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "tokenizer.json")
	write(t, path, tokenizerJSON)
	tok, err := wordpiece.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := words(t, tok, "E[NEW]e[MASK]", 0); got != "[CLS] E [NEW] [UNK] [MASK] [SEP]" {
		t.Errorf("got %q", got)
	}
	plain, err := wordpiece.LoadWith(dir, func(o *wordpiece.Options) { o.PlainText = true })
	if err != nil {
		t.Fatal(err)
	}
	if got := words(t, plain, "[NEW]", 0); got != "[CLS] [UNK] [UNK] [UNK] [SEP]" {
		t.Errorf("plain: got %q", got)
	}
	for _, test := range []struct{ old, new, item, got string }{
		{`{"added`, `{added`, "tokenizer.json", "invalid"},
		{"WordPiece", "BPE", "model.type", "BPE"},
		{`"unk_token": "[UNK]"`, `"unk_token": "<unk>"`, "model.unk_token", "<unk>"},
		{"##", "@@", "continuing_subword_prefix", "@@"},
		{"BertNormalizer", "Lowercase", "normalizer.type", "Lowercase"},
		{`"clean_text": true`, `"clean_text": false`, "clean_text", "false"},
		{"BertPreTokenizer", "Whitespace", "pre_tokenizer.type", "Whitespace"},
		{`["[CLS]", 1]`, `["<s>", 1]`, "post_processor", "<s> text [SEP]"},
		{"100", "0", "max_input_chars", "0"},
		{"100", "257", "max_input_chars", "257"},
		{`"content": "[NEW]"`, `"content": ""`, "added_tokens", "empty"},
		{"[NEW]", strings.Repeat("N", 257), "added_tokens", "257 bytes"},
		{`"content": "[NEW]"`, `"content": "[NEW]", "lstrip": true`, "added_tokens", "[NEW]"},
		{`"id": 3`, `"id": 2`, "added_tokens", "[MASK]"},
		{`"id": 5`, `"id": 6`, "model.vocab", "[NEW]"},
		{`"E": 4`, `"E": -1`, "model.vocab", "id"},
		{`"E": 4`, `"E": 3`, "model.vocab", "id 3"},
		{`"E": 4`, `"": 4`, "token 4", "empty"},
		{`"vocab"`, `"words"`, "model.vocab", "id"},
	} {
		broken := strings.Replace(tokenizerJSON, test.old, test.new, 1)
		if broken == tokenizerJSON {
			t.Fatalf("%q is not there", test.old)
		}
		write(t, path, broken)
		_, err := wordpiece.Load(dir)
		checkError(t, err, test.item, test.got)
	}
}

func TestLoadErrors(t *testing.T) {
	dir := t.TempDir()
	_, err := wordpiece.Load(dir)
	checkError(t, err, dir, "neither")
	vocab, settings := filepath.Join(dir, "vocab.txt"), filepath.Join(dir, "tokenizer_config.json")
	write(t, vocab, strings.Join(small, "\r\n")+"\r\n")
	if tok, err := wordpiece.Load(dir); err != nil || tok.Len() != len(small) {
		t.Errorf("lines that end with CR LF, no settings: %v", err)
	}
	write(t, settings, `{"do_basic_tokenize": false}`)
	_, err = wordpiece.Load(dir)
	checkError(t, err, "do_basic_tokenize", "false")
	write(t, settings, `{"do_lower_case": 3}`)
	_, err = wordpiece.Load(dir)
	checkError(t, err, "tokenizer_config.json", "")
	write(t, settings, `{"do_lower_case": false}`)
	tok, err := wordpiece.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := words(t, tok, "É", 0); got != "[CLS] É [SEP]" {
		t.Errorf("cased: got %q", got)
	}
	write(t, vocab, "\xff")
	_, err = wordpiece.Load(dir)
	checkError(t, err, "vocab.txt", "UTF-8")
	if err := os.Mkdir(filepath.Join(dir, "tokenizer.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	var path *fs.PathError
	if _, err := wordpiece.Load(dir); !errors.As(err, &path) {
		t.Errorf("tokenizer.json is a folder: got error %v, want a *fs.PathError", err)
	}
}
