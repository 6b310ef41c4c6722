package gguf_test

import (
	"fmt"
	"log"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
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

// A linear layer has the blocks of a tensor as they are.
func ExampleTensor() {
	f, err := gguf.Open("testdata/tiny.gguf")
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	t, ok := f.Tensor("token_embd.weight")
	if !ok || t.Type != gguf.Q8_0 {
		log.Fatal("another file")
	}
	n, k := t.Shape[0], t.Shape[1]
	layer, err := linear.FromBlocks(linear.Q8_0, t.Data, n, k, nil, kernel.Exec{})
	if err != nil {
		log.Fatal(err)
	}
	x, out := make([]float32, k), make([]float32, n)
	x[3] = 1 // the product is column 3 of the weights
	if err := layer.Apply(linear.DenseMatrix(out, 1, n), linear.DenseMatrix(x, 1, k), linear.Options{}); err != nil {
		log.Fatal(err)
	}
	weights, err := t.Float32()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(out, weights[3], weights[k+3])

	// Output:
	// [-28.076172 4.03125] -28.076172 4.03125
}
