package models_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/attn-go/attn/models"
	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/embedding"
)

// The models of these examples are tiny, with random weights: what they say means nothing.

// A program that takes any model asks what it has opened.
func ExampleOpen() {
	for _, path := range []string{"testdata/tiny/bert-1", "testdata/tiny/reranker-bert-1", "testdata/tiny/llama-2"} {
		m, err := models.Open(path, models.Options{})
		if err != nil {
			fmt.Println(err)
			return
		}
		switch about := m.About(); m := m.(type) {
		case models.Embeds:
			fmt.Println(about.Architecture, "makes vectors of", m.Embedder().Width(), "numbers")
		case models.Ranks:
			fmt.Println(about.Architecture, "reads up to", m.Reranker().MaxTokens(), "tokens of a query and a passage")
		case models.Generates:
			fmt.Println(about.Architecture, "continues up to", m.Generator().Config().Context, "tokens")
		}
	}

	// Output:
	// bert makes vectors of 36 numbers
	// bert reads up to 160 tokens of a query and a passage
	// llama continues up to 256 tokens
}

// Texts that are alike have vectors with a large dot product.
func ExampleOpenEmbedder() {
	model, err := models.OpenEmbedder("testdata/tiny/bert-1", embedding.LoadOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	vectors, err := model.Embed(context.Background(), []string{"the cat sat", "the cat sat", "one two three"})
	if err != nil {
		fmt.Println(err)
		return
	}
	dot := func(a, b []float32) (sum float64) {
		for i := range a {
			sum += float64(a[i]) * float64(b[i]) // no fused multiply-add rounds a product of two float32
		}
		return sum
	}
	fmt.Printf("%.2f %t\n", dot(vectors[0], vectors[1]), dot(vectors[0], vectors[2]) < 0.99)

	// Output: 1.00 true
}

// The passages of a search, best first, are those with the highest scores.
func ExampleOpenReranker() {
	model, err := models.OpenReranker("testdata/tiny/reranker-bert-1", embedding.LoadOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	scores, err := model.Score(context.Background(), "Where is the cat?", []string{"On the mat.", "It rains."})
	fmt.Printf("%.3f %v\n", scores, err)

	// Output: [-0.001 0.036] <nil>
}

// A text is continued by the most probable tokens, one by one as they are found.
func ExampleOpenGenerator() {
	model, err := models.OpenGenerator("testdata/tiny/llama-2", decoder.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	prompt, err := model.Encode("The cat", true)
	if err != nil {
		fmt.Println(err)
		return
	}
	for token, err := range model.Generate(context.Background(), prompt, decoder.GenerateOptions{MaxTokens: 2}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%q ", token.Text)
	}

	// Output: "quic" "user@example.org "
}

// A model of another kind than the program needs.
func ExampleOpenEmbedder_kind() {
	_, err := models.OpenEmbedder("testdata/tiny/llama-2", embedding.LoadOptions{})
	fmt.Println(errors.Is(err, models.ErrKind))
	fmt.Println(err)

	// Output:
	// true
	// testdata/tiny/llama-2: the model: a llama model of the kind generator, want the kind embedder; the command chat takes this one
}

// What the files of a model are, without loading it.
func ExampleDescribe() {
	d, err := models.Describe("testdata/tiny/bert-1")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(d.Architecture, d.Kind, d.GGUF)

	// Output: bert embedder false
}

// What loading a model would need and lack.
func ExampleInspect() {
	report, err := models.Inspect("testdata/tiny/llama-2")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, t := range report.Types {
		fmt.Println(t.Tensors, "tensors of", t.Name, "with", t.Elements, "numbers")
	}
	fmt.Println(report.Problems)

	// Output:
	// 29 tensors of F32 with 16616 numbers
	// []
}
