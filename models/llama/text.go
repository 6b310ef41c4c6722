package llama

import (
	"fmt"

	"github.com/attn-go/attn/models/gguf"
)

// Stop returns the tokens that the file names as ends of a text or of a turn. The slice
// belongs to the model.
func (n *network) Stop() []int32 { return n.stop }

// stopTokens reads the tokens that end a text.
func stopTokens(f *gguf.File, vocab int) (stop []int32, err error) {
	for _, key := range []string{"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"} {
		if _, ok := f.Value(key); !ok {
			continue
		}
		id, err := f.Int(key)
		if err != nil {
			return nil, err
		}
		if id < 0 || id >= int64(vocab) {
			return nil, keyError(key, fmt.Sprint(id), fmt.Sprintf("0 to %d", vocab-1))
		}
		stop = append(stop, int32(id))
	}
	return stop, nil
}

type decoder struct{}

func (d *decoder) add(id int32) string { return "" }
func (m *Model) newDecoder() decoder   { return decoder{} }
