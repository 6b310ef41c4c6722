package results

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// An Output is one result whose bits are compared between machines, tiers and threads.
type Output struct {
	Name   string
	Hashes map[int][]string // by the index of a file: one for each tier and number of threads
}

// Same says whether all hashes of the output are equal.
func (o *Output) Same() bool {
	var first string
	for _, hashes := range o.Hashes {
		for _, h := range hashes {
			if first = cmp.Or(first, h); h != first {
				return false
			}
		}
	}
	return true
}

// newest returns the newest contract that files are of.
func newest(files []*File) (contract int) {
	for _, f := range files {
		contract = max(contract, f.Contract)
	}
	return contract
}

// Outputs collects the hashes of all outputs of the files of the newest contract, in the order of
// the first one. Older contracts define other bits.
func Outputs(files []*File) []*Output {
	var all []*Output
	find := map[string]*Output{}
	add := func(name string, file int, hash string) {
		if hash == "" {
			return
		}
		if find[name] == nil {
			find[name] = &Output{name, map[int][]string{}}
			all = append(all, find[name])
		}
		find[name].Hashes[file] = append(find[name].Hashes[file], hash)
	}
	contract := newest(files)
	for i, f := range files {
		if f.Contract != contract {
			continue
		}
		for _, c := range f.Checks {
			for _, h := range c.Hashes {
				add(c.Name, i, h.SHA256)
			}
		}
		for _, s := range f.Speed {
			add(s.Shape, i, s.SHA256)
		}
		for _, b := range f.Backward {
			add(b.Name(), i, b.SHA256)
		}
		for _, m := range f.Models { // other weights give other bits
			add(fmt.Sprintf("%s (weights %.8s)", m.Name(), m.Weights), i, m.SHA256)
		}
	}
	return all
}

// An Agreement says in one line whether all machines computed the same bits.
type Agreement struct {
	Agree bool
	Wrong bool // bits differ, or checks failed
	Line  string
	Short string   // how many bits were compared
	Names []string // of the outputs that differ, and checks of older files that failed
}

// Agree compares the hashes of all outputs of the files of the newest contract, and says which
// files are of an older one: they only have to agree with each other. If there are several files,
// it counts the outputs that several of them have.
func Agree(files []*File) Agreement {
	contract := newest(files)
	of := map[int][]*File{}
	var older []string
	for _, f := range files {
		if of[f.Contract] = append(of[f.Contract], f); f.Contract != contract {
			older = append(older, fmt.Sprintf("%s of contract %d", filepath.Base(f.Path), f.Contract))
		}
	}
	a := agree(of[contract])
	if len(older) == 0 {
		return a
	}
	if len(of[contract]) == 1 {
		a.Line = strings.Replace(a.Line, "this machine", filepath.Base(of[contract][0].Path), 1)
	}
	a.Line += fmt.Sprintf(" Not compared, as the contract is now %d: %s.", contract, strings.Join(older, ", "))
	for _, c := range slices.Sorted(maps.Keys(of)) {
		if b := agree(of[c]); b.Wrong && c != contract {
			a.Agree, a.Wrong, a.Names = false, true, append(a.Names, b.Names...)
			a.Line += fmt.Sprintf(" Of contract %d: %s", c, b.Line)
			for _, f := range of[c] {
				a.Names = append(a.Names, f.Failures()...)
			}
		}
	}
	return a
}

// agree compares files of one contract.
func agree(files []*File) Agreement {
	outputs, shared, hashes := Outputs(files), 0, 0
	compared := map[int]bool{}
	var a Agreement
	for _, o := range outputs {
		if len(files) == 1 || len(o.Hashes) > 1 {
			shared++
			for file, list := range o.Hashes {
				hashes += len(list)
				compared[file] = true
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
	a.Wrong = len(a.Names)+failures > 0
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
