package weights

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/hub"
)

// names are the names of the models that attn fetch downloads, with their publishers.
var names = map[string]string{"sentence-transformers/all-MiniLM-L6-v2": MiniLM, "HuggingFaceTB/SmolLM2-135M-Instruct": SmolLM2}

// Fetched returns where below [Folder] the model of a name is if attn fetch downloads it: with or
// without its publisher, and in upper or lower case.
func Fetched(name string) (string, bool) {
	for known, at := range names {
		if strings.EqualFold(name, known) || strings.EqualFold(name, path.Base(known)) {
			return at, true
		}
	}
	return "", false
}

// Resolve returns the path of a model that a person names: a path that exists, or else the name of
// a fetched model, all-MiniLM-L6-v2 or SmolLM2-135M-Instruct, with or without its publisher
// (sentence-transformers/all-MiniLM-L6-v2) and in upper or lower case; or a path below [Folder]; or
// the name of a fetched model of a hub, see [hub.ParseName]. With [AllowFetch], or if ATTN_HUB has
// the address of a hub, such a model is fetched on its first use. An error says where Resolve
// looked, and is an [os.ErrNotExist] if there is nothing.
func Resolve(model string) (string, error) {
	if model == "" {
		return "", errors.New("no model is named")
	}
	_, err := os.Stat(model)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return model, err
	}
	if filepath.IsAbs(model) {
		return "", missing(model, "", "")
	}
	folder, err := Folder()
	if err != nil {
		return "", fmt.Errorf("there is no model %s, nor a folder for models: %w", model, err)
	}
	places := []string{filepath.Join(folder, filepath.FromSlash(model))}
	known, ok := Fetched(model)
	if ok {
		places = append([]string{filepath.Join(folder, filepath.FromSlash(known))}, places...)
	}
	for _, at := range places {
		if _, err := os.Stat(at); err == nil {
			return at, nil
		}
	}
	if path, err := ofHub(folder, model); path != "" || err != nil {
		return path, err
	}
	return "", missing(model, known, folder)
}

// missing reports a model that is not there. known is its path in the folder of models if attn
// fetch without a name downloads it, else "". folder is "" if Resolve did not look there.
func missing(model, known, folder string) error {
	got := fmt.Sprintf("there is no model %q", model)
	if folder != "" {
		got += ", neither here nor in " + folder
	}
	want := "a path; " + strings.Join(slices.Sorted(maps.Keys(names)), " or ") + ", which attn fetch downloads; or ORG/NAME of a hub, which attn fetch ORG/NAME downloads"
	if known != "" {
		want = "the model there: attn fetch downloads it"
	} else if _, ok := hub.ParseName(model); ok {
		want = "a path, or the model of a hub: attn fetch " + model + " downloads it, and so does -fetch or ATTN_HUB on first use"
	}
	return &kernel.Error{Where: "weights.Resolve: model", Got: got, Want: want, Kind: os.ErrNotExist}
}
