package main

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/attn-go/attn/internal/safetensors"
)

// The embedded real input; its README says where it comes from.
//
//go:embed testdata/activations
var embedded embed.FS

// embeddedFiles are the embedded files, with what they do not say themselves.
var embeddedFiles = []struct {
	path   string
	stem   string // the name of a group without a prefix
	causal bool
	sha    map[string]string // of each group's result by contract 1
}{
	{"testdata/activations/reference/activations.safetensors", "gobytes", true, map[string]string{
		"layer1": "189ae3e7b88e7b3825d4287874aa44bea4e30a86cb2d8b1b13398c5913419257",
		"layer3": "e14c44d69cc6d543b5b3e687759c688e5b5f693bd031ee1311d67f04a0e19866",
	}},
	{"testdata/activations/minilm/layer2.safetensors", "minilm", false, map[string]string{
		"minilm": "b0d1c0054262fcea7ee4dc1441fac6f04b4941a681e7f9db185433c73dc0ce3d",
	}},
}

// embeddedGroups returns the embedded real input.
func embeddedGroups() ([]*group, error) {
	var all []*group
	for _, e := range embeddedFiles {
		data, err := embedded.ReadFile(e.path)
		if err != nil {
			return nil, err
		}
		f, err := safetensors.New(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.path, err)
		}
		groups, err := readGroups(f, e.stem)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.path, err)
		}
		for _, g := range groups {
			g.causal = e.causal
			g.sha = e.sha[g.name]
		}
		all = append(all, groups...)
	}
	return all, nil
}

// fileGroups returns the groups of any safetensors file.
func fileGroups(path string, causal bool, offset int) ([]*group, error) {
	f, err := safetensors.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	stem := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	groups, err := readGroups(f, stem)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, g := range groups {
		g.causal, g.offset = causal, offset
	}
	return groups, nil
}

// readGroups returns the groups of a file in order of their prefixes: q, k, v,
// out and perhaps lengths with a common prefix. stem names the group without
// one.
func readGroups(f *safetensors.File, stem string) ([]*group, error) {
	var groups []*group
	for _, prefix := range prefixes(f) {
		g, err := readGroup(f, prefix)
		if err != nil {
			return nil, err
		}
		if g.name = strings.TrimRight(prefix, "./_-"); g.name == "" {
			g.name = stem
		}
		groups = append(groups, g)
	}
	if len(groups) == 0 {
		return nil, errors.New("no tensors named q, k, v and out (with any common prefix)")
	}
	return groups, nil
}

// prefixes finds the groups by their queries. A name that merely ends in q,
// like freq, begins no group.
func prefixes(f *safetensors.File) []string {
	var found []string
	for _, name := range f.Names() {
		prefix, ok := strings.CutSuffix(name, "q")
		if !ok {
			continue
		}
		_, hasKeys := f.Info(prefix + "k")
		_, hasValues := f.Info(prefix + "v")
		if prefix == "" || strings.ContainsAny(prefix[len(prefix)-1:], "./_-") || hasKeys && hasValues {
			found = append(found, prefix)
		}
	}
	return found
}

func readGroup(f *safetensors.File, prefix string) (*group, error) {
	g := &group{}
	for _, t := range []struct {
		name string
		dst  *array
	}{{"q", &g.q}, {"k", &g.k}, {"v", &g.v}, {"out", &g.theirs}} {
		a, err := readArray(f, prefix+t.name)
		if err != nil {
			return nil, err
		}
		*t.dst = a
	}
	if err := g.check(prefix); err != nil {
		return nil, err
	}
	return g, g.readLengths(f, prefix)
}

// readArray reads a [B, H, L, D] or [H, L, D] tensor.
func readArray(f *safetensors.File, name string) (array, error) {
	info, ok := f.Info(name)
	if !ok {
		return array{}, fmt.Errorf("no tensor %q", name)
	}
	shape := info.Shape
	if len(shape) == 3 {
		shape = append([]int{1}, shape...)
	}
	if len(shape) != 4 {
		return array{}, fmt.Errorf("tensor %q: shape %d, want [B H L D] or [H L D]", name, info.Shape)
	}
	data, err := f.Float32(name)
	if err != nil {
		return array{}, err
	}
	if len(data) == 0 {
		return array{}, fmt.Errorf("tensor %q: shape %d has no elements: nothing to check", name, info.Shape)
	}
	return array{data, [4]int(shape)}, nil
}

// check reports shapes that do not fit each other.
func (g *group) check(prefix string) error {
	for _, t := range []struct {
		name   string
		fits   bool
		a      *array
		expect string
	}{
		{"k", g.k.shape[0] == g.batch() && g.k.shape[3] == g.q.shape[3], &g.k, "the batch and head size of q"},
		{"k", g.heads()%g.k.shape[1] == 0, &g.k, "a number of heads that divides q's"},
		{"v", [3]int(g.v.shape[:3]) == [3]int(g.k.shape[:3]), &g.v, "the batch, heads and length of k"},
		{"out", g.theirs.shape == [4]int{g.batch(), g.heads(), g.lq(), g.v.shape[3]}, &g.theirs, "the batch, heads and length of q and the head size of v"},
	} {
		if !t.fits {
			return fmt.Errorf("tensor %q: shape %d, want %s (q %d, k %d, v %d)", prefix+t.name, t.a.shape, t.expect, g.q.shape, g.k.shape, g.v.shape)
		}
	}
	return nil
}

// readLengths reads the group's key lengths, or those of the whole file, if
// there are any.
func (g *group) readLengths(f *safetensors.File, prefix string) error {
	name := prefix + "lengths"
	info, ok := f.Info(name)
	if !ok {
		name = "lengths"
		if info, ok = f.Info(name); !ok {
			return nil
		}
	}
	if len(info.Shape) != 1 || info.Shape[0] != g.batch() {
		return fmt.Errorf("tensor %q: shape %d, want [%d], one per batch row", name, info.Shape, g.batch())
	}
	lengths, err := f.Int64(name)
	if err != nil {
		return err
	}
	g.lengths = make([]int, len(lengths))
	for b, n := range lengths {
		if n < 0 || n > int64(g.lk()) {
			return fmt.Errorf("tensor %q: length %d of batch row %d, want 0 to %d", name, n, b, g.lk())
		}
		g.lengths[b] = int(n)
	}
	return nil
}
