package results

import (
	"fmt"
	"strings"
)

// An Output is one result whose bits are compared between machines, tiers and threads.
type Output struct {
	Name   string
	Hashes []OutputHash
}

// An OutputHash is the hash of an output on one machine (the index of its file), tier and
// number of threads.
type OutputHash struct {
	File    int
	Tier    string
	Threads int
	SHA256  string
}

// Same says whether all hashes of the output are equal.
func (o *Output) Same() bool {
	for _, h := range o.Hashes {
		if h.SHA256 != o.Hashes[0].SHA256 {
			return false
		}
	}
	return true
}

// Files returns how many files have the output.
func (o *Output) Files() int {
	seen := map[int]bool{}
	for _, h := range o.Hashes {
		seen[h.File] = true
	}
	return len(seen)
}

// Outputs collects the hashes of all outputs of all files, in the order of the first file.
func Outputs(files []*File) []*Output {
	var all []*Output
	find := map[string]*Output{}
	add := func(name string, h OutputHash) {
		if h.SHA256 == "" {
			return
		}
		if find[name] == nil {
			find[name] = &Output{Name: name}
			all = append(all, find[name])
		}
		find[name].Hashes = append(find[name].Hashes, h)
	}
	for i, f := range files {
		for _, c := range f.Checks {
			for _, h := range c.Hashes {
				add(c.Name, OutputHash{i, h.Tier, h.Threads, h.SHA256})
			}
		}
		for _, s := range f.Speed {
			add(s.Shape, OutputHash{i, s.Tier, s.Threads, s.SHA256})
		}
		for _, b := range f.Backward {
			add(b.Name(), OutputHash{i, b.Tier, b.Threads, b.SHA256})
		}
		for _, m := range f.Models { // other weights give other bits
			add(fmt.Sprintf("%s (weights %.8s)", m.Name(), m.Weights), OutputHash{i, m.Tier, m.Threads, m.SHA256})
		}
	}
	return all
}

// An Agreement says in one line whether all machines computed the same bits.
type Agreement struct {
	Agree bool
	Line  string
	Short string   // how many bits were compared
	Names []string // of the outputs that differ
}

// Agree compares the hashes of all outputs of all files. If there are several files, it counts
// the outputs that several of them have.
func Agree(files []*File) Agreement {
	outputs, shared, hashes := Outputs(files), 0, 0
	compared := map[int]bool{}
	var a Agreement
	for _, o := range outputs {
		if len(files) == 1 || o.Files() > 1 {
			shared++
			hashes += len(o.Hashes)
			for _, h := range o.Hashes {
				compared[h.File] = true
			}
		}
		if !o.Same() {
			a.Names = append(a.Names, o.Name)
		}
	}
	a.Short = fmt.Sprintf("%d outputs, computed %d times", shared, hashes)
	failures := 0
	for _, f := range files {
		failures += len(f.Failures())
	}
	who := "All tiers and numbers of threads of this machine"
	if len(files) > 1 {
		who = fmt.Sprintf("All %d machines", len(files))
	}
	switch {
	case len(a.Names) > 0:
		a.Line = fmt.Sprintf("The bits DIFFER in %d of %d outputs: %s.", len(a.Names), len(outputs), strings.Join(a.Names, ", "))
	case failures > 0:
		a.Line = fmt.Sprintf("The bits DIFFER: %d checks failed.", failures)
	case len(compared) < len(files):
		a.Line = fmt.Sprintf("The bits of %d of %d machines were not compared: they share no output with the others.", len(files)-len(compared), len(files))
	default:
		a.Agree = true
		a.Line = fmt.Sprintf("%s agree: the same bits in %d outputs, computed %d times.", who, shared, hashes)
	}
	return a
}
