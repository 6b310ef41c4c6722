package static_test

import (
	"context"
	"fmt"

	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/static"
)

// A table of vectors embeds texts as a transformer does. This one is tiny, with random numbers.
func ExampleLoad() {
	e, err := static.Load("../testdata/tiny/model2vec-1", embedding.LoadOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	vectors, err := e.Embed(context.Background(), []string{"the cat sat", "one two three"})
	fmt.Println(len(vectors), "vectors of", e.Width(), err)

	// Output: 2 vectors of 24 <nil>
}
