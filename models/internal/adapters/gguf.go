package adapters

import (
	"errors"
	"fmt"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/internal/strict"
	"github.com/attn-go/attn/models/internal/tensors"
)

// metadata are the keys of an adapter's file that are not read. What stands before prompts, a
// prefix that it was trained with, would change answers.
var metadata = strict.Table{"lora.task_name": strict.Any, "lora.prompt_prefix": strict.None, "alora.invocation_tokens": strict.None}

// A file is an adapter of a GGUF file.
type file struct{ alpha float64 }

func openGGUF(path, architecture string) (*adapter, error) {
	f, err := gguf.Open(path)
	if err != nil {
		return nil, err
	}
	x := &adapter{Store: tensors.OfGGUF(f, path), close: f.Close}
	if x.form, err = readMetadata(f, path, architecture); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return x, nil
}

func readMetadata(f *gguf.File, path, architecture string) (*file, error) {
	k := strict.ReadGGUF(f, "adapter", func(key, got, want string) error {
		return &kernel.Error{Where: path + ": " + key, Got: got, Want: want}
	})
	for _, x := range [][2]string{{"general.type", "adapter"}, {"general.architecture", architecture}, {"adapter.type", "lora"}} {
		if got, _ := f.String(x[0]); got != x[1] {
			return nil, &kernel.Error{Where: path + ": " + x[0], Got: fmt.Sprintf("%.40q", got), Want: fmt.Sprintf("%q", x[1])}
		}
	}
	k.Text("type")
	x := &file{alpha: k.Number("lora.alpha", 0, -mostAlpha, mostAlpha)}
	k.Unknown(metadata)
	return x, k.Err()
}

func (x *file) names() string { return "NAME.lora_a or NAME.lora_b" }

// split leaves embeddings out: of these, the matrices lie the other way round.
func (x *file) split(name string) (target string, isB, ok bool) {
	if strings.Contains(name, "_embd.") {
		return "", false, false
	}
	if stem, ok := strings.CutSuffix(name, ".lora_b"); ok {
		return stem, true, true
	}
	target, ok = strings.CutSuffix(name, ".lora_a")
	return target, false, ok
}

// scale follows llama.cpp, for which an alpha of 0 means none.
func (x *file) scale(_ string, rank int) (float64, error) {
	if x.alpha == 0 {
		return 1, nil
	}
	return x.alpha / float64(rank), nil
}

func (x *file) find(s *tensors.Store, target string) (string, error) {
	if _, ok := s.Info(target); !ok {
		return "", fmt.Errorf("no tensor %s", target)
	}
	return target, nil
}
