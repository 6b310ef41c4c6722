package decoder_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/internal/tinyfolders"
)

// A program with a loop of its own lets the layer that guesses further tokens read along. After the
// prompt it guesses what follows a token more, and the model reads that and the guesses together:
// the first guess is right if its logits say so.
func ExampleSession_Ahead() {
	dir := guessing()
	defer os.RemoveAll(dir)
	model, err := decoder.Load(dir, decoder.Options{MTP: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	session, err := model.NewSession(1, 64)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := session.OpenAhead(1, 64); err != nil {
		fmt.Println(err)
		return
	}
	free, ctx := session.FreeAhead(), context.Background()
	text := session.NewText()
	if _, err := session.Forward(ctx, decoder.Step{Text: text, Tokens: []int32{1, 2, 3}}); err != nil {
		fmt.Println(err)
		return
	}
	guess := &decoder.Guess{Text: text, Known: []int32{1, 2, 3, 4}, Most: 2}
	if err := session.Ahead(ctx, guess); err != nil {
		fmt.Println(err)
		return
	}
	logits, err := session.Forward(ctx, decoder.Step{Text: text, Tokens: append([]int32{4}, guess.Tokens...), Logits: decoder.LogitsAll})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(guess.Tokens), "guesses,", len(logits[0])/model.Config().Vocab, "rows of logits")
	fmt.Println(free-session.FreeAhead(), "page of the layer's cache is used")

	// Output:
	// 2 guesses, 3 rows of logits
	// 1 page of the layer's cache is used
}

// guessing writes a model of testdata/tiny with a layer that guesses further tokens, of random
// weights, and returns its folder.
func guessing() string {
	return tinyfolders.Read(program{}, "../testdata/tiny/qwen3_5_text-2").AddAhead().Write()
}

// A program stands for a test where there is none.
type program struct{ testing.TB }

func (program) Helper()           {}
func (program) Fatal(args ...any) { panic(fmt.Sprint(args...)) }
func (program) TempDir() string {
	dir, err := os.MkdirTemp("", "attn")
	if err != nil {
		panic(err)
	}
	return dir
}
