package gguf_test

import (
	"fmt"
	"log"

	"github.com/attn-go/attn/models/gguf"
)

func Example() {
	f, err := gguf.Open("testdata/tiny.gguf")
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()

	layers, err := f.Int("llama.block_count")
	if err != nil {
		log.Fatal(err)
	}
	tokens, err := f.Strings("tokenizer.ggml.tokens")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d layers, tokens %q\n", layers, tokens)

	for _, t := range f.Tensors() {
		fmt.Println(t.Name, t.Type, t.Shape, len(t.Data), "bytes")
	}
	norm, _ := f.Tensor("output_norm.weight")
	weights, err := norm.Float32()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(weights)

	// Output:
	// 2 layers, tokens ["<s>" "a" "Ġthe"]
	// output_norm.weight F32 [3] 12 bytes
	// token_embd.weight Q8_0 [2 32] 68 bytes
	// [1 0.5 -2]
}
