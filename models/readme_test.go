package models_test

import (
	"context"
	"fmt"

	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/encoder"
)

// The code of README.md here and in the root, which docs/code_test.go compares. It needs weights,
// so it is compiled and not run.
var _ = func(ctx context.Context) error {
	m, err := decoder.Load("SmolLM2-135M-Instruct", decoder.Options{}) // or a GGUF file, or a folder
	if err != nil {
		return err
	}
	prompt, err := m.EncodeChat(ctx, []chattemplate.Message{{Role: "user", Content: "Why is the sky blue?"}})
	if err != nil {
		return err
	}
	for token, err := range m.Generate(ctx, prompt, decoder.GenerateOptions{MaxTokens: 100}) {
		if err != nil {
			return err
		}
		fmt.Print(token.Text)
	}
	return nil
}

var _ = func() error {
	e, err := encoder.Load("all-MiniLM-L6-v2", encoder.LoadOptions{}) // or a folder as Hugging Face has it
	if err != nil {
		return err
	}
	vectors, err := e.Embed(context.Background(), []string{"The cat sits on the mat.", "A cat is sitting on a rug."})
	fmt.Println(vectors)
	return err
}
