package tokenizer

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"testing"
	"unicode/utf8"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/gguf"
)

// smallVocabularies has a vocabulary of each kind that a GGUF file may have. The tokens have the
// ids of their places.
func smallVocabularies(t testing.TB) (all []metadata) {
	charsmap, err := base64.StdEncoding.DecodeString("CAAAAAAEAAAAAAAAYgA=")
	if err != nil {
		t.Fatal(err)
	}
	kinds := []struct {
		model  string
		tokens []string
		set    func(m *metadata)
	}{
		{"bert", []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "▁the", "▁a", "b", "s", "▁1"}, func(m *metadata) {
			m.set("unknown_token_id", uint32(1))
			m.set("bos_token_id", uint32(2))
			m.set("seperator_token_id", uint32(3))
		}},
		{"gpt2", []string{"<s>", "a", "b", "Ġ", "ab", "Ġa", "1", "Ã"}, func(m *metadata) {
			m.set("pre", "qwen2")
			m.set("merges", []string{"a b", "Ġ a"})
			m.set("eos_token_id", uint32(0))
		}},
		{"llama", []string{"<unk>", "<s>", "</s>", "▁a", "a", "b", "▁", "ab", "<0x31>"}, func(m *metadata) {
			m.set("scores", []float32{0, 0, 0, -1, -2, -3, -4, -1.5, 0})
			m.set("token_type", []int32{2, 3, 3, 1, 1, 1, 1, 1, 6})
			m.set("bos_token_id", uint32(1))
			m.set("eos_token_id", uint32(2))
			m.set("unknown_token_id", uint32(0))
		}},
		{"t5", []string{"<pad>", "</s>", "<unk>", "▁a", "a", "b", "▁", "ab"}, func(m *metadata) {
			m.set("scores", []float32{0, 0, 0, -1, -2, -3, -4, -1.5})
			m.set("token_type", []int32{3, 3, 2, 1, 1, 1, 1, 4})
			m.set("eos_token_id", uint32(1))
			m.set("unknown_token_id", uint32(2))
			m.set("precompiled_charsmap", charsmap)
			m.set("remove_extra_whitespaces", true)
			m.set("add_space_prefix", true)
		}},
	}
	for _, k := range kinds {
		var m metadata
		m.set("model", k.model)
		m.set("tokens", k.tokens)
		k.set(&m)
		all = append(all, m)
	}
	return all
}

// FuzzGGUF changes bytes of what a GGUF file says of its tokens. It is a tokenizer whose ids are
// its own, or gets a typed error.
func FuzzGGUF(f *testing.F) {
	var files [][]byte
	for kind, m := range smallVocabularies(f) {
		fromMetadata(f, m)
		files = append(files, m.bytes(f))
		f.Add(uint8(kind), []byte{}, "The ab's 123\xff ▁[SEP]")
		f.Add(uint8(kind), []byte{100, 0, 1, 90, 0, 'a', 200, 0, 0}, "ab b")
	}
	f.Fuzz(func(t *testing.T, kind uint8, changes []byte, text string) {
		data := append([]byte(nil), files[int(kind)%len(files)]...)
		for ; len(changes) >= 3; changes = changes[3:] { // 2 bytes of a place, and what to put there
			data[int(binary.LittleEndian.Uint16(changes))%len(data)] = changes[2]
		}
		parsed, err := gguf.New(data)
		if err != nil {
			return
		}
		tok, err := FromGGUF(parsed)
		if err != nil {
			if !errors.As(err, new(*kernel.Error)) {
				t.Errorf("error %v (%T)", err, err)
			}
			return
		}
		for _, o := range []Options{{}, {Plain: true, NoSpecial: true}, {Limit: 3}} {
			ids, _ := tok.EncodePair(text, text, o)
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
