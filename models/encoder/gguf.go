package encoder

import (
	"errors"
	"fmt"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/internal/activations"
	"github.com/attn-go/attn/models/internal/adapters"
	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/settings"
	"github.com/attn-go/attn/models/internal/tensors"
	"github.com/attn-go/attn/models/tokenizer"
)

// ggufHead is the classifier of rerankers.
var ggufHead = &arch.Head{Pooling: embedding.PoolFirst, Dense: "cls", Out: "cls.output", Bias: true, Activation: activations.Tanh}

// poolings are the values of pooling_type, see [ggufRank].
var poolings = map[int64]embedding.Pooling{1: embedding.PoolMean, 2: embedding.PoolFirst, 3: embedding.PoolLast}

// ggufRank is the pooling_type of rerankers.
const ggufRank = 4

// openGGUF opens the model of a GGUF file.
func openGGUF(path string, o LoadOptions) (*origin, error) {
	f, err := gguf.Open(path)
	if err != nil {
		return nil, err
	}
	x := &origin{Store: tensors.OfGGUF(f, path), path: path, close: f.Close}
	err = x.readGGUF(f)
	if err == nil {
		err = adapters.Merge(x.Store, x.model.Family.GGUF, o.LoRA, kernel.Exec{})
	}
	if err != nil {
		if !strings.Contains(err.Error(), path) {
			err = fmt.Errorf("%s: %w", path, err)
		}
		return nil, errors.Join(err, f.Close())
	}
	f.DropMetadata() // which would take memory beside the weights
	return x, nil
}

// readGGUF reads the model, the pooling and the tokenizer of a file.
func (x *origin) readGGUF(f *gguf.File) error {
	bad := func(name, got, want string) error {
		return &kernel.Error{Where: x.path + ": " + name, Got: got, Want: want}
	}
	m, err := settings.Encoders.ReadFile(f, bad)
	if err != nil {
		return err
	}
	m.Head = nil // which is of folders
	x.model, x.positions, x.limits = m, m.Embed.Table, x.path+": position_embd.weight"
	if x.positions == 0 {
		x.positions, x.limits = m.Context, x.path+": "+m.Family.GGUF+".context_length"
	}
	x.maxTokens = min(x.longest(), m.Context)
	pooling, err := readPooling(f, m.Family.GGUF, bad)
	if err != nil {
		return err
	}
	x.modules = &embedding.Modules{Poolings: []embedding.Pooling{pooling}}
	if pooling == "" {
		m.Head = ggufHead
		if key := m.Family.GGUF + ".classifier.output_labels"; has(f, key) {
			if x.labels, err = f.Strings(key); err != nil {
				return err
			}
		}
	}
	if x.tokenizer, err = tokenizer.FromGGUF(f); err != nil {
		return err
	}
	if n := x.tokenizer.Len(); n > m.Vocab {
		return bad("token_embd.weight", fmt.Sprintf("%d rows", m.Vocab), fmt.Sprintf("at least %d, the tokens of the tokenizer", n))
	}
	return x.checkEnds(len(x.tokenizer.Encode("", tokenizer.Options{Limit: 1})))
}

func has(f *gguf.File, key string) bool {
	_, ok := f.Value(key)
	return ok
}

// readPooling reads the pooling; "" is for rerankers.
func readPooling(f *gguf.File, arch string, bad func(name, got, want string) error) (embedding.Pooling, error) {
	const want = "1 (mean), 2 (cls), 3 (last token) or 4 (the classifier of a reranker)"
	key := arch + ".pooling_type"
	if !has(f, key) {
		return "", bad(key, "nothing", want)
	}
	n, err := f.Int(key)
	if err != nil {
		return "", err
	}
	if p, ok := poolings[n]; ok || n == ggufRank {
		return p, nil
	}
	return "", bad(key, fmt.Sprint(n), want)
}
