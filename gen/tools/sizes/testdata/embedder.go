// Program embedder makes vectors of texts with a model from a folder or a GGUF file.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/attn-go/attn/models"
	"github.com/attn-go/attn/models/embedding"
)

func main() {
	if len(os.Args) < 2 {
		log.Fatal("usage: embedder MODEL TEXT...")
	}
	model, err := models.OpenEmbedder(os.Args[1], embedding.LoadOptions{})
	if err != nil {
		log.Fatal(err)
	}
	vectors, err := model.Embed(context.Background(), os.Args[2:])
	if err != nil {
		log.Fatal(err)
	}
	for _, v := range vectors {
		fmt.Println(v)
	}
}
