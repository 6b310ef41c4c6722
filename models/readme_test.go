package models_test

import (
	"context"
	"fmt"

	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/decoder"
)

// The code of README.md, which docs/code_test.go compares. It needs weights, so it is compiled and not run.
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
