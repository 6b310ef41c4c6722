// Package adapters reads adapters and merges them into the tensors of a model, see package lora.
package adapters

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/internal/digests"
	"github.com/attn-go/attn/models/internal/tensors"
	"github.com/attn-go/attn/models/lora"
)

// A File is a file of an adapter.
type File struct {
	Name   string
	SHA256 [sha256.Size]byte
}

// Files returns the files of an adapter that results depend on.
func Files(path string) (files []File, err error) {
	paths := []string{path}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		paths = []string{filepath.Join(path, tensors.AdapterConfig), tensors.AdapterWeights(path)}
	}
	for _, p := range paths {
		sum, err := digests.OfFile(p)
		if err != nil {
			return nil, err
		}
		files = append(files, File{filepath.Base(p), sum})
	}
	return files, nil
}

// Digest returns a text that stands for adapters, with a SHA-256 of each file: "" for none. A name
// of a file changes nothing.
func Digest(list []lora.Adapter) (string, error) {
	var b strings.Builder
	for _, a := range list {
		files, err := Files(a.Path)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "lora %v", a.Factor())
		for _, f := range files {
			fmt.Fprintf(&b, " %x", f.SHA256)
		}
		b.WriteByte('\n')
	}
	return b.String(), nil
}

// Merge merges adapters into the tensors of a folder, or of a GGUF file of an architecture. Errors
// are a [*kernel.Error], or come from the system.
func Merge(s *tensors.Store, architecture string, list []lora.Adapter, exec kernel.Exec) (err error) {
	if len(list) == 0 {
		return nil
	}
	if s.Adapters, err = Digest(list); err != nil {
		return err
	}
	for _, a := range list {
		if err := a.Check("Options.LoRA"); err != nil {
			return err
		}
		x, err := open(a.Path, architecture)
		if err != nil {
			return err
		}
		err = x.merge(s, a.Factor(), exec)
		if fail := x.close(); err == nil {
			err = fail
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// An adapter is the files of one.
type adapter struct {
	*tensors.Store
	form
	close func() error
}

// A form says how adapters are written: as PEFT or GGUF files have them.
type form interface {
	// split returns which tensor of the model a tensor of the adapter changes, and whether it is A
	// or B.
	split(name string) (target string, isB, ok bool)
	names() string                                        // of its tensors, for errors
	find(s *tensors.Store, target string) (string, error) // the tensor of the model by the name that the store has
	scale(target string, rank int) (float64, error)       // alpha/rank
}

// open opens an adapter for a folder, if architecture is "", or a GGUF file.
func open(path, architecture string) (*adapter, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir() && architecture != "":
		return nil, &kernel.Error{Where: path + ": the adapter", Got: "a folder for the model of a GGUF file", Want: "a GGUF file, which convert_lora_to_gguf.py of llama.cpp makes of it"}
	case info.IsDir():
		return openPEFT(path)
	case architecture == "":
		return nil, &kernel.Error{Where: path + ": the adapter", Got: "a file for the model of a folder", Want: "the folder that the peft library has saved, with " + tensors.AdapterConfig}
	}
	return openGGUF(path, architecture)
}

// A pair is the two tensors for a tensor of the model.
type pair struct{ a, b string }

// pairs returns the pairs by the tensor that they change.
func (x *adapter) pairs() (map[string]pair, error) {
	all := map[string]pair{}
	for _, name := range x.Names() {
		target, isB, ok := x.split(name)
		if !ok {
			info, _ := x.Info(name)
			return nil, &kernel.Error{Where: x.Where(name), Got: info.String(), Want: x.names() + "; adapters of embeddings, biases, magnitudes (DoRA) and whole tensors are not supported"}
		}
		p := all[target]
		if isB {
			p.b = name
		} else {
			p.a = name
		}
		all[target] = p
	}
	if len(all) == 0 {
		return nil, &kernel.Error{Where: x.Where(""), Got: "no tensors", Want: x.names()}
	}
	return all, nil
}

// merge merges an adapter.
func (x *adapter) merge(s *tensors.Store, factor float64, exec kernel.Exec) error {
	all, err := x.pairs()
	if err != nil {
		return err
	}
	taken := map[string]string{}
	for _, target := range slices.Sorted(maps.Keys(all)) {
		p := all[target]
		if p.a == "" || p.b == "" {
			return &kernel.Error{Where: x.Where(p.a + p.b), Got: "one of two matrices", Want: "both A and B"}
		}
		low, alpha, err := x.read(target, p)
		if err != nil {
			return err
		}
		low.Scale, low.Exec = float32(factor*alpha), exec
		name, err := x.find(s, target)
		if err != nil {
			return &kernel.Error{Where: x.Where(p.a), Got: err.Error(), Want: "a tensor of the model that it changes"}
		}
		if other := taken[name]; other != "" {
			return &kernel.Error{Where: x.Where(p.a), Got: name + ", which " + other + " changes too", Want: "one pair for a tensor"}
		}
		taken[name] = p.a
		if err := s.Merge(name, low); err != nil {
			return err
		}
	}
	return nil
}

// read reads a pair, and alpha/rank for it.
func (x *adapter) read(target string, p pair) (low tensors.LowRank, alpha float64, err error) {
	a, _ := x.Info(p.a)
	b, _ := x.Info(p.b)
	if len(a.Shape) != 2 || len(b.Shape) != 2 || a.Shape[0] != b.Shape[1] || a.Shape[0] < 1 {
		return low, 0, &kernel.Error{Where: x.Where(p.a), Got: fmt.Sprintf("%v beside %v", a, b), Want: "A [rank, inputs] and B [outputs, rank]"}
	}
	r := &tensors.Reader{Store: x.Store}
	low.Rank = a.Shape[0]
	low.A, low.B = r.Floats(p.a, a.Shape...), r.Floats(p.b, b.Shape...)
	if r.Err() != nil {
		return low, 0, r.Err()
	}
	alpha, err = x.scale(target, low.Rank)
	return low, alpha, err
}
