package tokenizer

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/models/gguf"
)

// metadata is what a GGUF file says, in the order that it is written in.
type metadata []struct {
	key   string
	value any
}

func (m *metadata) set(key string, value any) {
	*m = append(*m, struct {
		key   string
		value any
	}{"tokenizer.ggml." + key, value})
}

// bytes returns the file of version 3 without tensors.
func (m metadata) bytes(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	put := func(values ...any) {
		for _, v := range values {
			if s, ok := v.(string); ok {
				binary.Write(&b, binary.LittleEndian, uint64(len(s)))
				b.WriteString(s)
				continue
			}
			binary.Write(&b, binary.LittleEndian, v)
		}
	}
	put([]byte("GGUF"), uint32(3), uint64(0), uint64(len(m)))
	for _, e := range m {
		put(e.key)
		switch v := e.value.(type) {
		case bool:
			put(uint32(7), v)
		case uint32:
			put(uint32(4), v)
		case string:
			put(uint32(8), v)
		case []string:
			put(uint32(9), uint32(8), uint64(len(v)))
			for _, s := range v {
				put(s)
			}
		case []float32:
			put(uint32(9), uint32(6), uint64(len(v)), v)
		case []int32:
			put(uint32(9), uint32(5), uint64(len(v)), v)
		case []uint8:
			put(uint32(9), uint32(0), uint64(len(v)), v)
		default:
			t.Fatalf("a value of type %T", v)
		}
	}
	b.Write(make([]byte, 64))
	return b.Bytes()
}

func (m metadata) file(t testing.TB) *gguf.File {
	t.Helper()
	f, err := gguf.New(m.bytes(t))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func fromMetadata(t testing.TB, m metadata) *Tokenizer {
	t.Helper()
	tok, err := FromGGUF(m.file(t))
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// converted returns what a GGUF file says of a tokenizer.json of testdata.
func converted(t testing.TB, name string) (m metadata, merges []string) {
	t.Helper()
	tok := fromFile(t, name)
	types := make([]int32, tok.Len())
	for id := range types {
		types[id] = typeNormal
		if tok.Special(int32(id)) {
			types[id] = typeControl
		}
	}
	var f struct{ Model struct{ Merges []jsonMerge } }
	read(t, name+".json", &f)
	for _, x := range f.Model.Merges {
		merges = append(merges, x.left+" "+x.right)
	}
	m.set("tokens", tok.tokens)
	m.set("token_type", types)
	return m, merges
}

// Byte-level BPE of a GGUF file has the ids of the tokenizer.json that it was made of.
func TestByteLevelGGUF(t *testing.T) {
	all, broken := testLines(t)
	var refs map[string]map[string][]string
	read(t, "references.json", &refs)
	for name, pre := range map[string]string{
		"gpt2": "gpt-2", "llama3": "llama-bpe", "qwen2": "qwen2", "gpt4o": "gpt-4o", "tekken": "tekken", "deepseek": "deepseek-v3", "smollm": "smollm",
		"falcon": "falcon", "deepseek-coder": "deepseek-coder", "deepseek-llm": "deepseek-llm", "qwen35": "qwen35", "default": "default",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, merges := converted(t, name)
			m.set("model", "gpt2")
			m.set("pre", pre)
			m.set("merges", merges)
			if name == "llama3" {
				m.set("bos_token_id", uint32(1))
			} else if name == "tekken" {
				m.set("add_bos_token", false)
			}
			got := results(fromMetadata(t, m), all, broken)
			for _, what := range []string{"ids", "plain", "broken", "text", "text without special"} {
				if h := hashes(got[what], strings.HasPrefix(what, "text")); !slices.Equal(h, refs[name][what]) {
					t.Errorf("%s: got hashes %v, want %v", what, h, refs[name][what])
					findDifference(t, name, what, got[what], all, broken)
				}
			}
		})
	}
}

// BPE of characters in a GGUF file has the ids and texts of the tokenizer.json that it was made of,
// which TestReferences compares. In that one the tokens of bytes are special, as the trainer made
// them so.
func TestGemmaGGUF(t *testing.T) {
	all, broken := testLines(t)
	m, merges := converted(t, "gemma")
	tokens, types := m[0].value.([]string), m[1].value.([]int32)
	for i, text := range tokens {
		switch {
		case text == "<unk>":
			types[i] = typeUnknown
		case len(text) == 6 && strings.HasPrefix(text, "<0x"):
			types[i] = typeByte
		}
	}
	m.set("model", "gemma4")
	m.set("pre", "gemma4")
	m.set("merges", merges)
	m.set("add_bos_token", true)
	m.set("bos_token_id", uint32(slices.Index(tokens, "<bos>")))
	m.set("unknown_token_id", uint32(slices.Index(tokens, "<unk>")))
	got, want := fromMetadata(t, m), fromFile(t, "gemma")
	same := 0
	for _, line := range append(all, broken...) {
		if strings.Contains(line, "<0x") {
			continue
		}
		a, b := got.Encode(line, Options{}), want.Encode(line, Options{})
		if !slices.Equal(a, b) || got.Decode(a, true) != want.Decode(b, true) {
			t.Fatalf("%q: ids %v, want %v", line, a, b)
		}
		same++
	}
	if same < 9000 {
		t.Errorf("%d lines are compared", same)
	}
}

// WordPiece of a GGUF file has the ids of the tokenizer.json that it was made of.
func TestWordPieceGGUF(t *testing.T) {
	all, broken := testLines(t)
	var refs map[string]map[string][]string
	read(t, "references.json", &refs)
	for _, name := range []string{"bert", "bert-cased"} {
		m, _ := converted(t, name)
		tokens := m[0].value.([]string)
		for i, text := range tokens {
			rest, continues := strings.CutPrefix(text, "##")
			switch {
			case continues && rest != "":
				tokens[i] = rest
			case m[1].value.([]int32)[i] == typeNormal:
				tokens[i] = space + text
			}
		}
		m.set("model", "bert")
		m.set("unknown_token_id", uint32(1))
		m.set("bos_token_id", uint32(2))
		m.set("seperator_token_id", uint32(3))
		got := results(fromMetadata(t, m), all, broken)
		for what, rows := range got {
			if h := hashes(rows, strings.HasPrefix(what, "text")); !slices.Equal(h, refs[name][what]) {
				t.Errorf("%s: %s: got hashes %v, want %v", name, what, h, refs[name][what])
				findDifference(t, name, what, rows, all, broken)
			}
		}
	}
}

// Vocabularies of SentencePiece have the ids and the texts that SentencePiece gives.
func TestSentencePieceGGUF(t *testing.T) {
	all, broken := testLines(t)
	for i, line := range all {
		all[i] = strings.ReplaceAll(line, "\x00", "") // where SentencePiece ends a text
	}
	var refs map[string]struct {
		Tokens    []string
		Scores    []float32
		Types     []int32
		IDs, Text []string
	}
	read(t, "sentencepiece.json", &refs)
	var rules struct {
		Normalizer struct{ Normalizers []jsonPart }
	}
	read(t, "charsmap.json", &rules)
	data, err := base64.StdEncoding.DecodeString(*rules.Normalizer.Normalizers[0].Charsmap)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"llama", "t5"} {
		var m metadata
		r := refs[name]
		m.set("model", name)
		m.set("tokens", r.Tokens)
		m.set("scores", r.Scores)
		m.set("token_type", r.Types)
		m.set("unknown_token_id", uint32(0))
		m.set("bos_token_id", uint32(1))
		m.set("eos_token_id", uint32(2))
		if name == "t5" {
			m.set("precompiled_charsmap", data)
			m.set("remove_extra_whitespaces", true)
		}
		tok := fromMetadata(t, m)
		var ids, texts [][]int32
		for _, line := range all {
			got := tok.Encode(line, Options{Plain: true, NoSpecial: true})
			ids = append(ids, got)
			var text []int32
			for _, b := range []byte(tok.Decode(got, true)) {
				text = append(text, int32(b))
			}
			texts = append(texts, text)
		}
		if h := hashes(ids, false); !slices.Equal(h, r.IDs) {
			t.Errorf("%s: got hashes %v, want %v", name, h, r.IDs)
			findDifference(t, name, "ids", ids, all, broken)
		}
		if h := hashes(texts, true); name == "llama" && !slices.Equal(h, r.Text) {
			t.Errorf("%s: texts: got hashes %v, want %v", name, h, r.Text)
			findDifference(t, name, "text", texts, all, broken)
		}
		before, after := tok.Ends()
		if want := map[string][2][]int32{"llama": {{1}, nil}, "t5": {nil, {2}}}[name]; !slices.Equal(before, want[0]) || !slices.Equal(after, want[1]) {
			t.Errorf("%s: got %v and %v around a text, want %v", name, before, after, want)
		}
	}
}
