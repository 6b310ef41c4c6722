package decoder

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/internal/tinyllama"
)

// FuzzLoad changes bytes of what a file says about a tiny model. The file then gets a typed error, or is a
// model that runs.
func FuzzLoad(f *testing.F) {
	file := tinyllama.New(only(gguf.Q4_1, "ffn"))
	file.AddVocabulary()
	whole := file.Bytes()
	head := len(whole)
	for _, w := range file.Tensors {
		head -= len(w.Data)
	}
	f.Add([]byte{})
	f.Add([]byte{60, 0, 0, 7, 200, 0, 0, 1})
	f.Add([]byte(" \x00\xcc0\x05ֹ\x030B00")) // an embedding of three tokens, without a tokenizer
	f.Fuzz(func(t *testing.T, changes []byte) {
		data := append([]byte(nil), whole...)
		for ; len(changes) >= 4; changes = changes[4:] { // 3 bytes of a place, and what to put there
			at := int(binary.LittleEndian.Uint32(append(changes[:3:3], 0)))
			data[at%head] = changes[3]
		}
		parsed, err := gguf.New(data)
		if err != nil {
			if !errors.As(err, new(*gguf.FormatError)) {
				t.Errorf("error %v (%T)", err, err)
			}
			return
		}
		m, err := New(parsed, Options{Exec: kernel.Exec{Threads: 1}, Context: 64})
		if err != nil {
			if !errors.As(err, new(*gguf.KeyError)) && !errors.As(err, new(*TensorError)) && !errors.As(err, new(*gguf.TensorError)) && !errors.As(err, new(*kernel.ArgumentError)) {
				t.Errorf("error %v (%T)", err, err)
			}
			return
		}
		s := session(t, m, 1, 64)
		last := int32(m.config.Vocab - 1) // fewer tokens than before, if the embedding has become smaller
		if _, err := s.Forward(t.Context(), Step{Text: s.NewText(), Tokens: []int32{min(1, last), min(2, last), min(3, last)}}); err != nil {
			t.Errorf("a model that loads does not run: %v", err)
		}
	})
}
