// Package tinyfolders changes tiny models in folders, for tests.
package tinyfolders

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/folder"
	"github.com/attn-go/attn/models/internal/settings"
	"github.com/attn-go/attn/models/internal/tinyllama"
	"github.com/attn-go/attn/models/safetensors"
)

const configFile, weightsFile = "config.json", "model.safetensors"

// Copy returns a copy of a folder.
func Copy(t testing.TB, path string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(path)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// SetKey changes a key of config.json, or removes it if the value is nil.
func SetKey(t testing.TB, dir, key string, value any) {
	t.Helper()
	path := filepath.Join(dir, configFile)
	var all map[string]any
	if err := folder.ReadJSON(path, &all); err != nil {
		t.Fatal(err)
	}
	all[key] = value
	if value == nil {
		delete(all, key)
	}
	data, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
}

// A Model is the tensors of a decoder's folder, a copy that may be changed.
type Model struct {
	Dir   string
	Names []string
	All   map[string]*safetensors.Tensor
	Arch  *arch.Model // of the folder that was copied
	t     testing.TB
}

// Read copies a folder and reads its tensors.
func Read(t testing.TB, path string) *Model {
	t.Helper()
	v := &Model{t: t, Dir: Copy(t, path), All: map[string]*safetensors.Tensor{}}
	f, err := safetensors.Open(filepath.Join(v.Dir, weightsFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, name := range f.Names() {
		x, err := f.Float32(name)
		if err != nil {
			t.Fatal(err)
		}
		info, _ := f.Info(name)
		v.Set(name, x, info.Shape...)
	}
	v.Arch, err = settings.Decoders.ReadFolder(v.Dir, func(key, got, want string) error { return fmt.Errorf("%s: got %s, want %s", key, got, want) })
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Set adds a tensor, or changes it.
func (v *Model) Set(name string, x []float32, shape ...int) {
	if v.All[name] == nil {
		v.Names = append(v.Names, name)
	}
	v.All[name] = &safetensors.Tensor{Name: name, Shape: slices.Clone(shape), Data: x}
}

// Write writes the tensors and returns the folder.
func (v *Model) Write() string {
	var all []safetensors.Tensor
	for _, name := range v.Names {
		all = append(all, *v.All[name])
	}
	var file bytes.Buffer
	if err := errors.Join(safetensors.Write(&file, nil, all), os.WriteFile(filepath.Join(v.Dir, weightsFile), file.Bytes(), 0o666)); err != nil {
		v.t.Fatal(err)
	}
	return v.Dir
}

// AheadNames are what folders call the parts of a layer that guesses further tokens: what joins
// states, three norms, and the layers that it is made of.
type AheadNames struct {
	Join, Token, State, Final string
	Layers                    []string
}

// AheadNames returns the names of the model's family.
func (v *Model) AheadNames() AheadNames {
	switch {
	case v.Arch.MoreFeed != nil:
		const one, two = "mtp.layers.0.", "mtp.layers.1."
		return AheadNames{one + "eh_proj.weight", one + "enorm.weight", one + "hnorm.weight", two + "final_layernorm.weight", []string{one, two}}
	case v.Arch.Family.Ahead != nil:
		return AheadNames{"mtp.fc.weight", "mtp.pre_fc_norm_embedding.weight", "mtp.pre_fc_norm_hidden.weight", "mtp.norm.weight", []string{"mtp.layers.0."}}
	}
	at := fmt.Sprintf("model.layers.%d.", len(v.Arch.Layers))
	return AheadNames{at + "eh_proj.weight", at + "enorm.weight", at + "hnorm.weight", at + "shared_head.norm.weight", []string{at}}
}

// AddAhead adds a layer that guesses further tokens (MTP): one like the last layer with attention.
// If its feed is apart, the last layer of all has one like it.
func (v *Model) AddAhead() *Model {
	w, last := v.Arch.Width, len(v.Arch.Layers)-1
	from := []int{last, last}
	for v.Arch.Layers[from[0]].Attention() == nil {
		from[0]--
	}
	r := &tinyllama.File{Random: 7}
	random := func(shape ...int) []float32 {
		x := make([]float32, shape[0]*append(shape, 1)[1])
		for i := range x {
			x[i] = r.Next()
		}
		return x
	}
	if v.Arch.Family.Ahead == nil {
		SetKey(v.t, v.Dir, "num_nextn_predict_layers", 1)
	}
	names := v.AheadNames()
	for i, to := range names.Layers {
		for _, name := range slices.Clone(v.Names) {
			_, inside, _ := strings.Cut(name, ".") // behind model or backbone
			if rest, ok := strings.CutPrefix(inside, fmt.Sprintf("layers.%d.", from[i])); ok {
				x := v.All[name]
				y := slices.Clone(x.Data)
				slices.Reverse(y) // another layer
				v.Set(to+rest, y, x.Shape...)
			}
		}
	}
	v.Set(names.Join, random(w, 2*w), w, 2*w)
	for _, name := range []string{names.Token, names.State, names.Final} {
		x := random(w)
		for i := range x {
			x[i] += 0.75
		}
		v.Set(name, x, w)
	}
	return v
}

// Circles makes the token after each token the next entry of the vocabulary, whose size it
// returns, for a model like deepseek_v3-31 with AddAhead. Embeddings are points of circles, of
// which the head has the next ones. The layer that guesses turns either the state before a token
// twice, or passes the token on, so that all its guesses are right.
func (v *Model) Circles(state bool) (vocab int) {
	w := v.Arch.Width
	vocab = v.All["model.embed_tokens.weight"].Shape[0]
	angle := func(token, i int) float64 { return 2 * math.Pi * float64(token*(1+i)) / float64(vocab) }
	circles := func(turn int) []float32 {
		x := make([]float32, vocab*w)
		for token := range vocab {
			for i := range w / 2 {
				sin, cos := math.Sincos(angle(token+turn, i))
				x[token*w+2*i], x[token*w+2*i+1] = float32(cos), float32(sin)
			}
		}
		return x
	}
	v.Set("model.embed_tokens.weight", circles(0), vocab, w)
	v.Set("lm_head.weight", circles(-1), vocab, w)
	SetKey(v.t, v.Dir, "tie_word_embeddings", false)
	join := make([]float32, 2*w*w)
	for i := range w {
		if !state {
			join[i*2*w+i] = 1
			continue
		}
		sin, cos := math.Sincos(angle(1, i/2))
		join[i*2*w+w+i], join[i*2*w+w+i^1] = float32(cos), float32(sin)
		if i%2 == 0 {
			join[i*2*w+w+i^1] = float32(-sin)
		}
	}
	v.Set(fmt.Sprintf("model.layers.%d.eh_proj.weight", len(v.Arch.Layers)), join, w, 2*w)
	for name, x := range v.All {
		switch {
		case strings.Contains(name, "o_proj") || strings.Contains(name, "down_proj"):
			clear(x.Data) // layers add nothing
		case strings.HasSuffix(name, "norm.weight"):
			for i := range x.Data {
				x.Data[i] = 1
			}
		}
	}
	return vocab
}
