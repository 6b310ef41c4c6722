package receipt_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/attn-go/attn/models"
	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/receipt"
)

// Whoever has the model can check a receipt of vectors on any CPU: it computes them again.
func Example() {
	const path = "../testdata/tiny/bert-1" // tiny, with random weights
	files, err := receipt.Digests(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	model := receipt.Model{Name: "bert-1", Architecture: "bert", Files: files}
	e, err := models.OpenEmbedder(path, embedding.LoadOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, texts := context.Background(), []string{"the cat sat", "one two three"}
	vectors, err := e.Embed(ctx, texts)
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := receipt.RecordEmbeddings(model, embedding.LoadOptions{}, e, texts, vectors)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(receipt.VerifyEmbeddings(ctx, model, e, r, receipt.Options{}))

	vectors[1][0]++ // a vector that the model did not compute
	if r, err = receipt.RecordEmbeddings(model, embedding.LoadOptions{}, e, texts, vectors); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(errors.Is(receipt.VerifyEmbeddings(ctx, model, e, r, receipt.Options{}), receipt.ErrMismatch))

	// Output:
	// <nil>
	// true
}
