package hub_test

import (
	"fmt"

	"github.com/attn-go/attn/models/hub"
)

// A name has a revision, or a file of a repository with several.
func ExampleParseName() {
	for _, text := range []string{"Qwen/Qwen3-0.6B", "Qwen/Qwen3-0.6B@main", "Qwen/Qwen3-0.6B-GGUF:Qwen3-0.6B-Q8_0.gguf", "notes.txt"} {
		name, ok := hub.ParseName(text)
		fmt.Printf("%v %t\n", name, ok)
	}

	// Output:
	// Qwen/Qwen3-0.6B@main true
	// Qwen/Qwen3-0.6B@main true
	// Qwen/Qwen3-0.6B-GGUF@main:Qwen3-0.6B-Q8_0.gguf true
	// @ false
}
