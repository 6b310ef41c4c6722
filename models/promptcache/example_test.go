package promptcache_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"
	"slices"

	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/promptcache"
)

// A program reads a text, and keeps its keys and values in a folder. The next program takes them
// from there instead of reading the text again, and computes the same. The model of this example is
// tiny, with random weights.
func Example() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "pages")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	model, err := decoder.Load("../testdata/tiny/llama-2", decoder.Options{})
	if err != nil {
		log.Fatal(err)
	}
	backend, err := promptcache.OpenFolder(folder, 1<<30)
	if err != nil {
		log.Fatal(err)
	}
	pages := promptcache.Pages{
		Cache: promptcache.New(backend, slog.Default()),
		First: promptcache.First(model.StateFingerprint("a hash of the model's files"), 4),
		Size:  4,
	}
	prompt := []int32{1, 2, 3, 4, 5}
	first, err := next(ctx, model, &pages, prompt)
	if err != nil {
		log.Fatal(err)
	}
	second, err := next(ctx, model, &pages, prompt)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("the same logits:", slices.Equal(first, second))
	fmt.Printf("%+v\n", pages.Stats())

	// Output:
	// the same logits: true
	// {Read:1 Written:1 Damaged:0 Failed:0}
}

// next returns the logits of the token after a prompt, whose first page it reads from the cache or
// writes there.
func next(ctx context.Context, model *decoder.Model, pages *promptcache.Pages, prompt []int32) ([]float32, error) {
	session, err := model.NewSession(1, 64)
	if err != nil {
		return nil, err
	}
	text, page := session.NewText(), prompt[:pages.Size]
	key := pages.Key(page)
	kept := pages.Get(ctx, key)
	if kept != nil {
		if err := text.Load(page, kept); err != nil {
			return nil, err
		}
	}
	logits, err := session.Forward(ctx, decoder.Step{Text: text, Tokens: prompt[text.Len():]})
	if err != nil {
		return nil, err
	}
	if kept == nil {
		data, err := text.Save(nil, 0, pages.Size)
		if err != nil {
			return nil, err
		}
		pages.Put(ctx, key, data)
	}
	return slices.Clone(logits[0]), nil
}
