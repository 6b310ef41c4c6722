package models_test

import (
	"context"
	"fmt"
	"log"
	"net/http"

	"github.com/attn-go/attn/models"
	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/encoder"
	"github.com/attn-go/attn/models/server"
)

// The code of README.md, which docs/code_test.go compares. It needs weights, so it is compiled and not run.
var _ = []any{rerankCode, embedCode, generateCode, serveCode}

func rerankCode(ctx context.Context, dir string) ([]float32, error) {
	r, err := models.OpenReranker(dir, embedding.LoadOptions{})
	if err != nil {
		return nil, err
	}
	scores, err := r.Score(ctx, "Who sits on the mat?", []string{"The cat sits on the mat.", "A dog runs."})
	return scores, err
}

func embedCode() {
	e, err := encoder.Load("all-MiniLM-L6-v2", encoder.LoadOptions{}) // or a folder as Hugging Face has it
	if err != nil {
		log.Fatal(err)
	}
	vectors, err := e.Embed(context.Background(), []string{"The cat sits on the mat.", "A cat is sitting on a rug."})
	if err != nil {
		log.Fatal(err)
	}
	cosine := float32(0)
	for i, x := range vectors[0] {
		cosine += x * vectors[1][i]
	}
	fmt.Printf("%.2f\n", cosine)
	// Output: 0.77
}

func generateCode(ctx context.Context) error {
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

func serveCode(ctx context.Context) error {
	m, err := server.Load("SmolLM2-135M-Instruct", server.LoadOptions{})
	if err != nil {
		return err
	}
	s, err := server.New(server.Settings{}, m)
	if err != nil {
		return err
	}
	defer s.Close(ctx)
	http.ListenAndServe("127.0.0.1:8080", s)
	return nil
}
