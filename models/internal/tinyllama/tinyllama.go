// Package tinyllama makes files of a tiny model of the Llama family, with random weights, for
// tests.
package tinyllama

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/internal/ggufwriter"
	"github.com/attn-go/attn/numeric"
)

// The sizes of the tiny model: random weights, and all that real models have.
const (
	Layers, Width, FFN, Vocab = 3, 64, 96, 211
	Heads, KVHeads, HeadSize  = 4, 2, 16
	Context                   = 700
)

// A File is the file of a tiny model.
type File struct {
	ggufwriter.File
	Random uint64                      // state of the random numbers
	of     func(name string) gguf.Type // of matrices; nil means F32
}

// Write writes the file into a folder of the test and returns its path.
func (f *File) Write(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tiny.gguf")
	if err := os.WriteFile(path, f.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// New returns a file with all tensors. Function of says the types of the matrices; without it they
// are F32.
func New(of func(name string) gguf.Type) *File {
	f := &File{of: of, Random: 1}
	f.Metadata = []ggufwriter.Entry{
		{Key: "general.architecture", Value: "llama"},
		{Key: "llama.block_count", Value: uint32(Layers)},
		{Key: "llama.context_length", Value: uint32(Context)},
		{Key: "llama.embedding_length", Value: uint32(Width)},
		{Key: "llama.feed_forward_length", Value: uint32(FFN)},
		{Key: "llama.attention.head_count", Value: uint32(Heads)},
		{Key: "llama.attention.head_count_kv", Value: uint32(KVHeads)},
		{Key: "llama.attention.layer_norm_rms_epsilon", Value: float32(1e-5)},
		{Key: "llama.rope.freq_base", Value: float32(1000)},
		{Key: "llama.vocab_size", Value: uint32(Vocab)},
		{Key: "tokenizer.ggml.eos_token_id", Value: uint32(2)},
	}
	f.Matrix("token_embd.weight", Vocab, Width)
	f.Vector("output_norm.weight", Width)
	for i := range Layers {
		at := func(name string) string { return fmt.Sprintf("blk.%d.%s.weight", i, name) }
		f.Vector(at("attn_norm"), Width)
		f.Vector(at("ffn_norm"), Width)
		f.Matrix(at("attn_q"), Heads*HeadSize, Width)
		f.Matrix(at("attn_k"), KVHeads*HeadSize, Width)
		f.Matrix(at("attn_v"), KVHeads*HeadSize, Width)
		f.Matrix(at("attn_output"), Width, Heads*HeadSize)
		f.Matrix(at("ffn_gate"), FFN, Width)
		f.Matrix(at("ffn_up"), FFN, Width)
		f.Matrix(at("ffn_down"), Width, FFN)
	}
	return f
}

// Next returns a random number from -1 to below 1 (Knuth's generator).
func (f *File) Next() float32 {
	f.Random = f.Random*6364136223846793005 + 1442695040888963407
	return float32(int32(f.Random>>40)-1<<23) * 0x1p-23
}

// Vector adds numbers around 1.
func (f *File) Vector(name string, n int) {
	x := make([]float32, n)
	for i := range x {
		x[i] = 1 + float32(f.Next()*0.25)
	}
	f.AddFloats(name, x, n)
}

// Matrix adds random weights of the type that the file wants.
func (f *File) Matrix(name string, rows, cols int) {
	kind := gguf.F32
	if f.of != nil {
		kind = f.of(name)
	}
	if kind != gguf.F32 {
		f.Tensors = append(f.Tensors, gguf.Tensor{Name: name, Type: kind, Shape: []int{rows, cols}, Data: f.packed(kind, rows*cols)})
		return
	}
	x := make([]float32, rows*cols)
	for i := range x {
		x[i] = float32(f.Next() * 0.3)
	}
	f.AddFloats(name, x, rows, cols)
}

// packed returns n random numbers of a type.
func (f *File) packed(kind gguf.Type, n int) (data []byte) {
	half := func(x float32) { data = binary.LittleEndian.AppendUint16(data, uint16(numeric.ToF16(x))) }
	noise := func(n int) {
		for range n {
			data = append(data, byte(int32(f.Next()*128)))
		}
	}
	switch kind {
	case gguf.F16:
		for range n {
			half(f.Next() * 0.3)
		}
	case gguf.BF16:
		for range n {
			data = binary.LittleEndian.AppendUint16(data, uint16(numeric.ToBF16(f.Next()*0.3)))
		}
	case gguf.Q8_0:
		for range n / 32 {
			half(0.002 + float32(f.Next()*0.001))
			noise(32)
		}
	case gguf.Q4_0:
		for range n / 32 {
			half(0.03 + float32(f.Next()*0.01))
			noise(16)
		}
	case gguf.Q4_1:
		for range n / 32 {
			half(0.03 + float32(f.Next()*0.01))
			half(-0.2 + float32(f.Next()*0.05))
			noise(16)
		}
	case gguf.Q5_0:
		for range n / 32 {
			half(0.015 + float32(f.Next()*0.005))
			noise(4 + 16)
		}
	case gguf.NVFP4:
		for range n / 64 {
			for range 4 { // 0.03125 to 0.0625
				data = append(data, 0x10+byte(int32(f.Next()*4+4)))
			}
			noise(32)
		}
	default:
		panic(fmt.Sprintf("no random weights of type %v", kind))
	}
	return data
}

// AddVocabulary adds a tokenizer: three special tokens, the bytes that ASCII text consists of,
// and pairs of letters; and a template of conversations.
func (f *File) AddVocabulary() {
	tokens, types := []string{"<|endoftext|>", "<|im_start|>", "<|im_end|>", "Ċ", "Ġ"}, []int32{3, 3, 3, 1, 1}
	for c := '!'; c <= '~'; c++ {
		tokens = append(tokens, string(c))
	}
	var merges []string
	for i := 0; len(tokens) < Vocab; i++ {
		a, b := string(rune('a'+i%26)), string(rune('a'+i/26))
		tokens, merges = append(tokens, a+b), append(merges, a+" "+b)
	}
	for len(types) < Vocab {
		types = append(types, 1)
	}
	f.Set("tokenizer.ggml.model", "gpt2")
	f.Set("tokenizer.ggml.pre", "smollm")
	f.Set("tokenizer.ggml.tokens", tokens)
	f.Set("tokenizer.ggml.token_type", types)
	f.Set("tokenizer.ggml.merges", merges)
	f.Set("tokenizer.chat_template", template)
}

// AddDate has the template of AddVocabulary begin with the date.
func (f *File) AddDate() {
	f.Set("tokenizer.chat_template", "{{ strftime_now('%d %b %Y') }} "+template)
}

// AddTools gives conversations a template of tools and of thinking, which writes the names of tools
// alone, as every letter is a token.
func (f *File) AddTools() { f.Set("tokenizer.chat_template", toolTemplate) }

const toolTemplate = `{% for t in tools or [] %}{{ t.function.name }} {% endfor %}{% for m in messages %}<|im_start|>{{ m.role }}
{{ m.content }}{% for c in m.tool_calls or [] %}<tool_call>
{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}
</tool_call>{% endfor %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% if enable_thinking is defined and enable_thinking %}<think>
{% endif %}{% endif %}{# </think> #}`

const template = "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}" +
	"{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
