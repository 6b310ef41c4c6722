package weights

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// names are those of the models that make models fetches.
var names = map[string]string{"all-MiniLM-L6-v2": MiniLM, "SmolLM2-135M-Instruct": SmolLM2}

// Resolve returns the path of a model that a person names: a path that exists, or else the name of
// a fetched model, all-MiniLM-L6-v2 or SmolLM2-135M-Instruct, or any path below [Folder]. An error
// says where Resolve looked, and is an [os.ErrNotExist] if there is nothing.
func Resolve(model string) (string, error) {
	if model == "" {
		return "", errors.New("no model is named")
	}
	_, err := os.Stat(model)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return model, err
	}
	if filepath.IsAbs(model) {
		return "", &missingError{model: model}
	}
	folder, err := Folder()
	if err != nil {
		return "", fmt.Errorf("there is no model %s, nor a folder for models: %w", model, err)
	}
	below := model
	if known, ok := names[model]; ok {
		below = known
	}
	path := filepath.Join(folder, filepath.FromSlash(below))
	if _, err := os.Stat(path); err != nil {
		return "", &missingError{model, path}
	}
	return path, nil
}

// A missingError names a model that is not there.
type missingError struct{ model, path string } // path is "" if there was one place to look

func (e *missingError) Error() string {
	all := strings.Join(slices.Sorted(maps.Keys(names)), " and ")
	if e.path == "" {
		return fmt.Sprintf("there is no model %s; make models fetches %s", e.model, all)
	}
	if _, ok := names[e.model]; ok {
		return fmt.Sprintf("there is no model %s, neither here nor at %s, where make models puts it (or go run ./models/fetch)", e.model, e.path)
	}
	return fmt.Sprintf("there is no model %s, neither here nor at %s; make models fetches %s", e.model, e.path, all)
}

func (e *missingError) Is(target error) bool { return target == os.ErrNotExist }
