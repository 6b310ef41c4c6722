package decoder_test

import (
	"context"
	"fmt"

	"github.com/attn-go/attn/models/decoder"
)

// The model of these examples is tiny, with random weights: what it says means nothing.
const path = "../testdata/tiny/llama-2"

// A text is continued with tokens that are drawn by chance. The same seed draws the same ones, on
// every CPU.
func ExampleModel_Generate() {
	model, err := decoder.Load(path, decoder.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	prompt, err := model.Encode("The cat", true)
	if err != nil {
		fmt.Println(err)
		return
	}
	options := decoder.GenerateOptions{
		MaxTokens: 8,
		Sampler:   decoder.Sampler{Temperature: 0.8, TopP: 0.9, Seed: 42},
	}
	var ids []int32
	for token, err := range model.Generate(context.Background(), prompt, options) {
		if err != nil {
			fmt.Println(err)
			return
		}
		ids = append(ids, token.ID)
	}
	fmt.Println(ids)

	// Output: [247 636 157 161 640 203 386 574]
}

// Two texts side by side get the tokens that each gets alone. Those of a text come in order.
func ExampleModel_GenerateBatch() {
	model, err := decoder.Load(path, decoder.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	prompts := [][]int32{{1, 2, 3}, {1, 2, 4, 5}}
	ids := make([][]int32, len(prompts))
	for token, err := range model.GenerateBatch(context.Background(), prompts, decoder.GenerateOptions{MaxTokens: 4}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		ids[token.Index] = append(ids[token.Index], token.ID)
	}
	fmt.Println(ids)

	// Output: [[600 148 569 393] [499 148 569 30]]
}

// A program with a loop of its own: the logits after a prompt, and after one more token. The keys
// and values of the prompt are kept.
func ExampleSession_Forward() {
	model, err := decoder.Load(path, decoder.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	session, err := model.NewSession(1, 64)
	if err != nil {
		fmt.Println(err)
		return
	}
	text := session.NewText()
	defer text.Free()
	for _, tokens := range [][]int32{{1, 2, 3}, {4}} {
		logits, err := session.Forward(context.Background(), decoder.Step{Text: text, Tokens: tokens})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(text.Len(), "tokens,", len(logits), "row of", len(logits[0]), "logits")
	}

	// Output:
	// 3 tokens, 1 row of 700 logits
	// 4 tokens, 1 row of 700 logits
}

// How many tokens all prompts begin with: they are computed once.
func ExampleSharedPrefix() {
	fmt.Println(decoder.SharedPrefix([][]int32{{1, 2, 3}, {1, 2, 4, 5}}))

	// Output: 2
}
