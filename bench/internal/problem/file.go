package problem

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/attn-go/attn/models/safetensors"
)

// ReadFile returns the problems of a safetensors file.
func ReadFile(path string, causal bool, offset int) ([]*Problem, error) {
	f, err := safetensors.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	problems, err := readProblems(f, name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, p := range problems {
		p.Causal, p.Offset = causal, offset
	}
	return problems, nil
}

// readProblems returns the problems of a file. A problem is a set of tensors q, k, v, out
// and perhaps lengths with a common prefix, which is its name. If the prefix is empty, its
// name is the given one.
func readProblems(f *safetensors.File, name string) ([]*Problem, error) {
	var problems []*Problem
	for _, prefix := range prefixes(f) {
		p, err := readProblem(f, prefix)
		if err != nil {
			return nil, err
		}
		if p.Name = strings.TrimRight(prefix, "./_-"); p.Name == "" {
			p.Name = name
		}
		problems = append(problems, p)
	}
	if len(problems) == 0 {
		return nil, errors.New("no tensors named q, k, v and out (with any common prefix)")
	}
	return problems, nil
}

// prefixes returns the prefixes of the tensors named q, sorted. A name that merely ends in
// q, such as freq, does not count unless there are k and v with the same prefix.
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

// readProblem reads the tensors with this prefix and checks that their shapes agree.
func readProblem(f *safetensors.File, prefix string) (*Problem, error) {
	p := &Problem{}
	for _, t := range []struct {
		name string
		dst  *Array
	}{{"q", &p.Q}, {"k", &p.K}, {"v", &p.V}, {"out", &p.PyTorch}} {
		a, err := readArray(f, prefix+t.name)
		if err != nil {
			return nil, err
		}
		*t.dst = a
	}
	if err := p.check(prefix); err != nil {
		return nil, err
	}
	return p, p.readLengths(f, prefix)
}

// readArray reads a [B, H, L, D] or [H, L, D] tensor.
func readArray(f *safetensors.File, name string) (Array, error) {
	info, ok := f.Info(name)
	if !ok {
		return Array{}, fmt.Errorf("no tensor %q", name)
	}
	shape := info.Shape
	if len(shape) == 3 {
		shape = append([]int{1}, shape...)
	}
	if len(shape) != 4 {
		return Array{}, fmt.Errorf("tensor %q: shape %d, want [B H L D] or [H L D]", name, info.Shape)
	}
	data, err := f.Float32(name)
	if err != nil {
		return Array{}, err
	}
	if len(data) == 0 {
		return Array{}, fmt.Errorf("tensor %q: shape %d has no elements: nothing to check", name, info.Shape)
	}
	return Array{data, [4]int(shape)}, nil
}

// check returns an error if the shapes of the tensors do not agree.
func (p *Problem) check(prefix string) error {
	for _, t := range []struct {
		name string
		ok   bool
		a    *Array
		want string
	}{
		{"k", p.K.Shape[0] == p.Batch() && p.K.Shape[3] == p.D(), &p.K, "the batch and head size of q"},
		{"k", p.Heads()%p.KVHeads() == 0, &p.K, "a number of heads that divides q's"},
		{"v", [3]int(p.V.Shape[:3]) == [3]int(p.K.Shape[:3]), &p.V, "the batch, heads and length of k"},
		{"out", p.PyTorch.Shape == [4]int{p.Batch(), p.Heads(), p.Lq(), p.Dv()}, &p.PyTorch, "the batch, heads and length of q and the head size of v"},
	} {
		if !t.ok {
			return fmt.Errorf("tensor %q: shape %d, want %s (q %d, k %d, v %d)", prefix+t.name, t.a.Shape, t.want, p.Q.Shape, p.K.Shape, p.V.Shape)
		}
	}
	return nil
}

// readLengths reads the key lengths with this prefix, or else those without a prefix, if
// there are any.
func (p *Problem) readLengths(f *safetensors.File, prefix string) error {
	name := prefix + "lengths"
	info, ok := f.Info(name)
	if !ok {
		name = "lengths"
		if info, ok = f.Info(name); !ok {
			return nil
		}
	}
	if len(info.Shape) != 1 || info.Shape[0] != p.Batch() {
		return fmt.Errorf("tensor %q: shape %d, want [%d], one per batch row", name, info.Shape, p.Batch())
	}
	lengths, err := f.Int64(name)
	if err != nil {
		return err
	}
	p.Lengths = make([]int, len(lengths))
	for b, n := range lengths {
		if n < 0 || n > int64(p.Lk()) {
			return fmt.Errorf("tensor %q: length %d of batch row %d, want 0 to %d", name, n, b, p.Lk())
		}
		p.Lengths[b] = int(n)
	}
	return nil
}
