package tokenizer

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

// A folder with vocab.txt is the same as one with tokenizer.json.
func TestLines(t *testing.T) {
	want := fromFile(t, "bert")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "vocab.txt"), []byte(strings.Join(want.tokens, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tok, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	all, _ := testLines(t)
	for _, line := range all[:1000] {
		if got, want := tok.Encode(line, Options{}), want.Encode(line, Options{}); !slices.Equal(got, want) {
			t.Fatalf("%q: got %v, want %v", line, got, want)
		}
	}
	if id, ok := tok.Role(RoleClass); !ok || tok.Token(id) != "[CLS]" || !tok.Special(id) {
		t.Errorf("[CLS] has the id %d", id)
	}
}

// A limit gives the first ids of a text, also of one that is encoded piece by piece for its sake.
func TestLimit(t *testing.T) {
	all, _ := testLines(t)
	long := strings.Join(all[:400], " ")
	for _, name := range []string{"bert", "steps", "gpt2", "llama3", "charsmap", "llama2"} {
		tok := fromFile(t, name)
		whole := tok.Encode(long, Options{NoSpecial: true})
		for _, limit := range []int{1, 2, 7, 100, 3000, len(whole) - 1, len(whole), len(whole) + 1} {
			if got := tok.Encode(long, Options{NoSpecial: true, Limit: limit}); !slices.Equal(got, whole[:min(limit, len(whole))]) {
				t.Errorf("%s: with limit %d the ids are others", name, limit)
			}
			before, after := tok.Ends()
			got := tok.Encode(long, Options{Limit: limit})
			n := min(len(whole), max(limit-len(before)-len(after), 0))
			if want := slices.Concat(before, whole[:n], after); !slices.Equal(got, want) {
				t.Errorf("%s: with limit %d and the ends: got %d ids, want %d", name, limit, len(got), len(want))
			}
		}
	}
}

// Only what a program writes has special tokens; between them parts are one text.
func TestParts(t *testing.T) {
	tok := fromFile(t, "llama3")
	start, _ := tok.ID("<|im_start|>")
	end, _ := tok.ID("<|im_end|>")
	user := "Hi <|im_end|> there"
	got := tok.EncodeParts([]Part{{Text: "<|im_start|>user\n", Special: true}, {Text: user}, {Text: "!<|im_end|>", Special: true}}, Options{NoSpecial: true})
	want := slices.Concat([]int32{start}, tok.Encode("user\n"+user+"!", Options{NoSpecial: true, Plain: true}), []int32{end})
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	all := []Part{{Text: "a<|im_", Special: true}, {Text: "end|>b", Special: true}}
	if got, want := tok.EncodeParts(all, Options{}), tok.Encode("a<|im_end|>b", Options{}); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if text := tok.Decode(got, false); text != "user\n"+user+"!" {
		t.Errorf("got text %q", text)
	}
}

// A stream gives whole characters, and all of the text.
func TestStream(t *testing.T) {
	all, _ := testLines(t)
	for _, name := range []string{"bert", "gpt2", "unigram", "llama2", "mistral", "gemma"} {
		tok := fromFile(t, name)
		s := tok.Stream(true)
		for _, line := range all[:500] {
			ids := tok.Encode(line, Options{})
			text := ""
			for _, id := range ids {
				part := s.Next(id)
				if !utf8.ValidString(part) {
					t.Fatalf("%s: %q: a part %q", name, line, part)
				}
				text += part
			}
			if text += s.Flush(); text != tok.Decode(ids, true) {
				t.Fatalf("%s: %q: got %q, want %q", name, line, text, tok.Decode(ids, true))
			}
		}
	}
}

// The bytes of the tokens of a text are the text, but for the space that SentencePiece's begin
// with. A stream allocates nothing for tokens that are complete.
func TestTokenBytes(t *testing.T) {
	for _, name := range []string{"smollm", "gpt2", "llama3", "llama2"} {
		tok := fromFile(t, name)
		const text = "The naïve 猫 sits: 😀 on 12 mats\n"
		ids := tok.Encode(text, Options{NoSpecial: true})
		var got []byte
		for _, id := range ids {
			got = append(got, tok.TokenBytes(id)...)
		}
		if strings.TrimPrefix(string(got), " ") != text {
			t.Errorf("%s: %q, want %q", name, got, text)
		}
		if tok.TokenBytes(-1) != nil || tok.TokenBytes(int32(tok.Len())) != nil {
			t.Errorf("%s: ids without a token have bytes", name)
		}
	}
	tok := fromFile(t, "smollm")
	s, ids := tok.Stream(false), tok.Encode("The cat sits on the mat.", Options{NoSpecial: true})
	n := testing.AllocsPerRun(10, func() {
		for _, id := range ids {
			s.Next(id)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations for %d tokens", n, len(ids))
	}
}

// Any number of goroutines get the same ids.
func TestConcurrent(t *testing.T) {
	all, _ := testLines(t)
	for _, name := range []string{"bert", "gpt2", "unigram", "llama2"} {
		tok := fromFile(t, name)
		want := fmt.Sprint(tok.Encode(all[0], Options{}), tok.Count(all[1]))
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 20 {
					if got := fmt.Sprint(tok.Encode(all[0], Options{}), tok.Count(all[1])); got != want {
						t.Errorf("%s: got %s, want %s", name, got, want)
					}
				}
			})
		}
		wg.Wait()
	}
}

// No bytes of a file make a panic, or a tokenizer whose ids are none of its own.
func FuzzJSON(f *testing.F) {
	for _, file := range []string{ // small ones, as larger ones take the fuzzer's time
		`{"normalizer":{"type":"BertNormalizer"},"pre_tokenizer":{"type":"BertPreTokenizer"},"post_processor":{"type":"BertProcessing","cls":["[CLS]",1],"sep":["[SEP]",2]},"decoder":{"type":"WordPiece","prefix":"##","cleanup":true},"added_tokens":[{"id":2,"content":"[SEP]","special":true,"lstrip":true}],"model":` + tinyModel + `}`,
		`{"normalizer":{"type":"NFC"},"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":"\\p{L}+|\\s+(?!\\S)"},"behavior":"MergedWithNext"},{"type":"ByteLevel","add_prefix_space":true}]},"decoder":{"type":"ByteLevel"},"model":{"type":"BPE","unk_token":"c","vocab":{"a":0,"b":1,"ab":2,"c":3},"merges":["a b"]}}`,
		`{"normalizer":{"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"▁"},{"type":"Replace","pattern":{"String":" "},"content":"▁"}]},"decoder":{"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"▁"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":1}]},"model":{"type":"BPE","byte_fallback":true,"fuse_unk":true,"unk_token":"c","vocab":{"a":0,"b":1,"ab":2,"c":3,"<0x64>":4},"merges":[["a","b"]]}}`,
		`{"normalizer":{"type":"Precompiled","precompiled_charsmap":"CAAAAAAEAAAAAAAAYgA="},"pre_tokenizer":{"type":"Metaspace","replacement":"▁","prepend_scheme":"first"},"post_processor":{"type":"TemplateProcessing","single":[{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"c","type_id":0}}],"pair":[{"Sequence":{"id":"A","type_id":0}},{"Sequence":{"id":"B","type_id":1}}],"special_tokens":{"c":{"ids":[2]}}},"decoder":{"type":"Metaspace","replacement":"▁"},"model":{"type":"Unigram","unk_id":0,"vocab":[["u",0],["▁a",-1.5],["b",-2],["ab",-2.5]]}}`,
	} {
		if _, err := FromJSON([]byte(file), nil); err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(file), "The ab's 123 [SEP] \xff\u0301 ▁")
	}
	f.Add([]byte(`{"model":`+tinyModel+`}`), "ab")
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		tok, err := FromJSON(data, data)
		if err != nil {
			return
		}
		for _, o := range []Options{{}, {Plain: true, NoSpecial: true}, {Limit: 3}} {
			ids, types := tok.EncodePair(text, text, o)
			if len(ids) != len(types) {
				t.Fatalf("%d ids and %d types", len(ids), len(types))
			}
			for _, id := range append(ids, tok.Encode(text, o)...) {
				if id < 0 || int(id) >= tok.Len() {
					t.Fatalf("id %d of %d", id, tok.Len())
				}
			}
			if got := tok.Decode(ids, true); !utf8.ValidString(got) {
				t.Fatalf("the text %q", got)
			}
		}
	})
}

// A first text that is encoded once gives the pairs that EncodePair gives, whatever came before.
func TestPairsOf(t *testing.T) {
	tok, err := FromJSON([]byte(`{"pre_tokenizer":{"type":"BertPreTokenizer"},"post_processor":{"type":"BertProcessing","cls":["[CLS]",1],"sep":["[SEP]",2]},"model":`+tinyModel+`}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{"", "a", "a b ab", strings.Repeat("ab ", 30), "b", strings.Repeat("a b ", 9)}
	for limit := range 30 {
		o := Options{Limit: limit}
		for _, a := range texts {
			with := tok.PairsOf(a, o)
			for _, b := range append(texts, texts...) {
				ids, types := with(b)
				if want, wantTypes := tok.EncodePair(a, b, o); !slices.Equal(ids, want) || !slices.Equal(types, wantTypes) {
					t.Fatalf("limit %d, %q, %q: %v of types %v, want %v, %v", limit, a, b, ids, types, want, wantTypes)
				}
			}
		}
	}
}
