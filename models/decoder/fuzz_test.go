package decoder

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/internal/tinyllama"
	"github.com/attn-go/attn/models/reranking"
	"github.com/attn-go/attn/models/tokenizer"
)

// FuzzLoad changes bytes of what a file says about a tiny model. The file then gets a typed error,
// or is a model that runs.
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
			if !errors.Is(err, gguf.ErrFormat) {
				t.Errorf("error %v (%T)", err, err)
			}
			return
		}
		m, err := New(parsed, Options{Exec: kernel.Exec{Threads: 1}, Context: 64})
		if err != nil {
			if !errors.As(err, new(*kernel.Error)) {
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

// FuzzConfig reads any config.json beside the weights of a tiny model: the folder is a model that
// runs, or gets an error.
func FuzzConfig(f *testing.F) {
	for _, name := range []string{"qwen3-2", "gemma3-6", "qwen3_moe-2", "phi3-long-2", "qwen3-yarn-2", "llama-llama3-2"} {
		data, err := os.ReadFile(filepath.Join(filepath.Dir(tinyFolders), name, configFile))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"model_type": "gemma3", "text_config": 5}`))
	f.Add([]byte("null"))
	dir := copied(f, "qwen3-2")
	f.Fuzz(func(t *testing.T, config []byte) {
		if err := os.WriteFile(filepath.Join(dir, configFile), config, 0o666); err != nil {
			t.Fatal(err)
		}
		m, err := Load(dir, Options{Exec: kernel.Exec{Threads: 1}, Context: 64})
		if err != nil {
			return
		}
		s := session(t, m, 1, 64)
		if _, err := s.Forward(t.Context(), Step{Text: s.NewText(), Tokens: []int32{1, 2, 3}}); err != nil {
			t.Errorf("a model that loads does not run: %v", err)
		}
	})
}

// FuzzWeights changes bytes of what model.safetensors says of its tensors: the folder is a model
// that runs, or gets an error.
func FuzzWeights(f *testing.F) {
	dir := copied(f, "qwen3-2")
	path := filepath.Join(dir, "model.safetensors")
	whole, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	head := int(binary.LittleEndian.Uint64(whole))
	f.Add([]byte{})
	f.Add([]byte{60, 0, '7', 200, 0, '1'})
	f.Fuzz(func(t *testing.T, changes []byte) {
		data := bytes.Clone(whole)
		for ; len(changes) >= 3; changes = changes[3:] { // 2 bytes of a place, and what to put there
			data[8+int(binary.LittleEndian.Uint16(changes))%head] = changes[2]
		}
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		m, err := Load(dir, Options{Exec: kernel.Exec{Threads: 1}, Context: 64})
		if err != nil {
			return
		}
		s := session(t, m, 1, 64)
		if _, err := s.Forward(t.Context(), Step{Text: s.NewText(), Tokens: []int32{1, 2, 3}}); err != nil {
			t.Errorf("a model that loads does not run: %v", err)
		}
	})
}

// FuzzRanking reads any files that say how a decoder ranks beside it, and any template of a GGUF
// file: the folder or file is a reranker that runs, or gets an error.
func FuzzRanking(f *testing.F) {
	names := []string{"modules.json", "1_LogitScore/config.json", "sentence_bert_config.json", templateFile}
	seed := make([][]byte, len(names))
	for i, name := range names {
		data, err := os.ReadFile(filepath.Join(scoreFolder, name))
		if err != nil {
			f.Fatal(err)
		}
		seed[i] = data
	}
	f.Add(seed[0], seed[1], seed[2], seed[3], "{query} {document}")
	f.Add([]byte(`[{"type": "Transformer"}]`), []byte(`{}`), []byte(`{}`), []byte("{{ messages[0].content }}"), "{document}{query}")
	dir := copied(f, filepath.Base(scoreFolder))
	f.Fuzz(func(t *testing.T, modules, score, transformer, template []byte, prompt string) {
		for i, data := range [][]byte{modules, score, transformer, template} {
			if err := os.WriteFile(filepath.Join(dir, names[i]), data, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if m, err := LoadReranker(dir, embedding.LoadOptions{}); err == nil {
			if _, err := m.Score(t.Context(), "a", []string{"b"}); err != nil && !strings.Contains(err.Error(), "chattemplate") {
				t.Errorf("a reranker that loads does not run: %v", err)
			}
		}
		tok, err := tokenizer.Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		reranking.NewTemplate(tok, prompt, "") // must not panic
	})
}

// FuzzTexts reads any files that say how texts become tokens beside a tokenizer: the model has the
// tokens that end texts, and the tokens of a conversation.
func FuzzTexts(f *testing.F) {
	names := []string{tokenizerFile, generationFile, templateFile}
	f.Add([]byte(`{"bos_token": {"content": "<|endoftext|>"}, "eos_token": "<|im_end|>", "chat_template": "{{ bos_token }}{{ messages[0].content }}"}`), []byte(`{"eos_token_id": [1, 2]}`), []byte(nil))
	f.Add([]byte(`{"chat_template": [{"name": "default", "template": "{{ eos_token }}"}]}`), []byte(`{"eos_token_id": -1}`), []byte(nil))
	f.Add([]byte(`{}`), []byte(`{"eos_token_id": 1}`), []byte("{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>{% endfor %}"))
	dir := copied(f, "qwen3-2")
	const size = 800
	f.Fuzz(func(t *testing.T, tokens, generation, template []byte) {
		for i, data := range [][]byte{tokens, generation, template} {
			path := filepath.Join(dir, names[i])
			if len(data) > 0 {
				if err := os.WriteFile(path, data, 0o666); err != nil {
					t.Fatal(err)
				}
			} else if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
		}
		var v vocabulary
		if err := v.fromFolder(dir, size); err != nil {
			return
		}
		ids, err := v.EncodeChat(t.Context(), []chattemplate.Message{{Role: "user", Content: "a <|im_end|> b"}})
		if err != nil && ids != nil {
			t.Errorf("ids %v and error %v", ids, err)
		}
		for _, id := range slices.Concat(v.stop, ids) {
			if id < 0 || id >= size {
				t.Errorf("token %d of %d", id, size)
			}
		}
	})
}
