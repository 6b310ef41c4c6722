package gguf

import (
	"fmt"
	"path/filepath"
	"strings"
)

// The keys of a model in several files.
const (
	keyPart    = "split.no"            // of the file, from 0
	keyParts   = "split.count"         // how many there are
	keyTensors = "split.tensors.count" // in all of them
)

const mostParts = 65535 // as the key is a uint16

// Parts returns the paths of the files of a model, of which this is the only one or the first one:
// path, or all from NAME-00001-of-00003.gguf to NAME-00003-of-00003.gguf. It reads the metadata of
// a file with such a name. Errors come from [Open].
func Parts(path string) ([]string, error) {
	if _, _, _, ok := partName(path); !ok {
		return []string{path}, nil
	}
	f, err := openPart(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.parts(path)
}

// Name returns the name of a file of a model, without its folder, the end .gguf and the number of a
// part.
func Name(path string) string {
	name, ok := strings.CutSuffix(filepath.Base(path), ".gguf")
	if stem, _, _, is := partName(path); ok && is {
		return filepath.Base(stem)
	}
	return name
}

// partName returns what the name of a part is made of.
func partName(path string) (stem string, part, parts int, ok bool) {
	const end = "-00001-of-00001.gguf"
	if len(path) <= len(end) {
		return "", 0, 0, false
	}
	stem = path[:len(path)-len(end)]
	if n, err := fmt.Sscanf(path[len(stem):], "-%05d-of-%05d.gguf", &part, &parts); n != 2 || err != nil {
		return "", 0, 0, false
	}
	return stem, part, parts, nameOfPart(stem, part, parts) == path
}

func nameOfPart(stem string, part, parts int) string {
	return fmt.Sprintf("%s-%05d-of-%05d.gguf", stem, part, parts)
}

// parts returns the paths of all parts of the file that path names.
func (f *File) parts(path string) ([]string, error) {
	bad := func(key, found, want string) ([]string, error) {
		return nil, fmt.Errorf("%s: %w", path, KeyError(key, found, want))
	}
	if _, ok := f.Value(keyParts); !ok {
		return []string{path}, nil
	}
	n, err := f.Int(keyParts)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if n < 0 || n > mostParts {
		return bad(keyParts, fmt.Sprint(n), fmt.Sprintf("0 to %d", mostParts))
	}
	if n < 2 {
		return []string{path}, nil
	}
	no, err := f.Int(keyPart)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	stem, part, parts, ok := partName(path)
	switch {
	case !ok || int64(parts) != n || int64(part) != no+1:
		return bad(keyParts, fmt.Sprint(n), fmt.Sprintf("all parts in one folder with names that end in -00001-of-%05d.gguf and so on: this one is part %d", n, no+1))
	case no != 0:
		return bad(keyPart, fmt.Sprint(no), fmt.Sprintf("0: the first part, which is %s, opens the model", nameOfPart(stem, 1, parts)))
	}
	paths := make([]string, parts)
	for i := range paths {
		paths[i] = nameOfPart(stem, i+1, parts)
	}
	return paths, nil
}

// addParts opens the other parts of a file and adds their tensors.
func (f *File) addParts(path string) error {
	paths, err := f.parts(path)
	if err != nil || len(paths) == 1 {
		return err
	}
	for i, path := range paths[1:] {
		if err := f.addPart(path, i+1, len(paths)); err != nil {
			return fmt.Errorf("gguf: part %d of %d: %w", i+2, len(paths), err)
		}
	}
	n, err := f.Int(keyTensors)
	if err == nil && n != int64(len(f.tensors)) {
		err = KeyError(keyTensors, fmt.Sprint(n), fmt.Sprintf("%d, the tensors of all %d parts", len(f.tensors), len(paths)))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// addPart adds the tensors of part i of n, counted from 0.
func (f *File) addPart(path string, i, n int) error {
	p, err := openPart(path)
	if err != nil {
		return err
	}
	f.mappings = append(f.mappings, p.mappings...)
	for _, want := range []struct {
		key string
		n   int
	}{{keyPart, i}, {keyParts, n}} {
		got, err := p.Int(want.key)
		if err == nil && got != int64(want.n) {
			err = KeyError(want.key, fmt.Sprint(got), fmt.Sprint(want.n))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	for _, t := range p.tensors {
		if _, twice := f.names[t.Name]; twice {
			return fmt.Errorf("%s: %w", path, formatError(0, fmt.Sprintf("tensor %q", t.Name), "a second tensor of this name", "one in all parts"))
		}
		f.names[t.Name] = len(f.tensors)
		f.tensors = append(f.tensors, t)
	}
	return nil
}
