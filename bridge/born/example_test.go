package born_test

import (
	"fmt"
	"log"

	"github.com/attn-go/attn/bridge/born"
	"github.com/attn-go/attn/kernel"
	"github.com/born-ml/born/models/llama"
	"github.com/born-ml/born/tensor"
)

// A model of Born with attn's attention and linear layers reads three tokens.
func Example() {
	backend := born.NewBackend(kernel.Exec{})
	attention := born.Attention[*born.Backend](kernel.Exec{})
	model, err := llama.LoadGGUF("model.gguf", backend, llama.WithAttentionFunc(attention))
	if err != nil {
		log.Fatal(err)
	}
	if err := backend.PackLlama(model); err != nil { // again, if the weights change
		log.Fatal(err)
	}

	tokens, err := tensor.NewRaw(tensor.Shape{1, 3}, tensor.Int32, tensor.CPU)
	if err != nil {
		log.Fatal(err)
	}
	copy(tokens.AsInt32(), []int32{1, 2, 3})
	logits := model.Forward(tokens, llama.NewModelCache(model.Config, 100, backend), 0)
	fmt.Println(logits.Shape())
}
