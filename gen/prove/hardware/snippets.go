// Package hardware compares the interpreters of instructions with a CPU, or with an emulator of
// one: it takes each form of an instruction from package asm, makes a function of it that loads the
// registers which it needs and stores them afterwards, and has that executed by both, on random
// words.
package hardware

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/attn-go/attn/gen/prove/machine"
)

// Where the state of a CPU lies in memory: vector registers, 64 bytes each, masks and general
// registers, 8 bytes each, and what memory operands refer to.
const (
	masksAt   = 2048
	generalAt = 2112
	memoryAt  = 2560
	stateSize = 4096
	pointer   = memoryAt + 128 // what the base of a memory operand is
	index     = 8              // what its index is
)

// An arch says how functions are written for an architecture.
type arch struct {
	goarch  string
	isa     machine.ISA
	files   []string
	free    []string // general registers that may point to the state
	kinds   []register
	header  string         // loads the addresses of both states to IN and OUT, and copies the memory
	point   string         // sets REG to OFF bytes after BASE
	number  string         // sets REG to N
	branch  string         // stores 1 if an instruction jumps, else 0
	numbers *regexp.Regexp // instructions of which any immediate number stands for all
	frame   map[string]bool
	address *regexp.Regexp // instructions that compute addresses
	skip    *regexp.Regexp // instructions that are not tried
	store   *regexp.Regexp // instructions whose memory operand is written to
	compare *regexp.Regexp // instructions that do nothing but set flags
	flags   *regexp.Regexp // instructions that set flags
	uses    *regexp.Regexp // instructions that use them
	end     string

	config   func(in *machine.Inst) string // the text of an instruction that others depend on
	distance *regexp.Regexp                // instructions whose second operand is a distance in memory
	open     bool                          // whether words may stay undefined
}

// A register is a kind of registers: how a text names them, and how REG, whose number is NUM, is
// loaded from AT bytes after IN and stored AT bytes after OUT, with TMP as another register.
type register struct {
	name        *regexp.Regexp
	class       func(name string) string // what tells registers apart that an instruction treats otherwise
	number      func(name string) int
	load, store string
	at, size    int
	wide        string // loads 64 bits, for instructions on such elements
}

// A snippet is a function of one instruction, or of two, the second of which uses flags of the
// first.
type snippet struct{ form, text string }

// snippets makes functions of all forms of instructions that a file has, and that are not among
// those it has seen.
func (a *arch) snippets(f *machine.File, seen map[string]bool) (list []snippet) {
	for _, name := range slices.Sorted(maps.Keys(f.Functions)) {
		fn := f.Functions[name]
		setter := -1
		for i := range fn.Insts {
			in := &fn.Insts[i]
			group := []*machine.Inst{in}
			if a.uses.MatchString(in.Op) {
				if setter < 0 {
					continue
				}
				group = []*machine.Inst{&fn.Insts[setter], in}
			}
			if a.flags.MatchString(in.Op) {
				setter = i
			}
			form := a.form(group)
			if slices.ContainsFunc(group, a.strange) {
				continue
			}
			if seen[form] || a.skip.MatchString(in.Op) || a.isConfig(in) || a.compare.MatchString(in.Op) {
				continue
			}
			seen[form] = true
			list = append(list, snippet{form, a.snippet(group)})
		}
	}
	return list
}

var words = regexp.MustCompile(`x\d+`)

var digits = regexp.MustCompile(`\d+`)

// form is what tells instructions apart, but for the numbers of registers and distances.
func (a *arch) form(group []*machine.Inst) string {
	var parts []string
	for _, in := range group {
		parts = append(parts, in.Op)
		for _, o := range in.Args {
			switch {
			case isMemory(o):
				parts = append(parts, "memory")
			case o.Kind == machine.Label:
			case o.Kind == machine.Immediate && a.numbers.MatchString(in.Op):
				parts = append(parts, "$")
			case o.Kind == machine.Immediate:
				parts = append(parts, o.Text)
			default:
				text := o.Text
				for _, kind := range a.kinds {
					text = kind.name.ReplaceAllStringFunc(text, kind.class)
				}
				parts = append(parts, text)
			}
		}
	}
	return strings.Join(parts, " ")
}

// strange tells of what a function of its own cannot have: the frame, and addresses as a result.
func (a *arch) strange(in *machine.Inst) bool {
	for _, o := range in.Args {
		if a.frame[o.Reg] || a.frame[o.Index] || o.Kind == machine.Static && o.Text[0] == '$' || isMemory(o) && a.address.MatchString(in.Op) && o.Kind != machine.Memory || o.Kind == machine.Local {
			return true
		}
	}
	return false
}

func isMemory(o machine.Operand) bool {
	return o.Kind == machine.Memory || o.Kind == machine.Param || o.Kind == machine.Static || o.Kind == machine.Local
}

func (a *arch) isConfig(in *machine.Inst) bool { return a.config != nil && a.flags.MatchString(in.Op) }

// snippet returns a function that loads registers, executes instructions and stores the registers.
func (a *arch) snippet(group []*machine.Inst) string {
	bases := map[string]string{} // what a register of a memory operand is
	var lines []string
	for _, in := range group {
		text := in.Text
		if a.isConfig(in) {
			lines = append(lines, a.config(in))
			continue
		}
		for _, o := range in.Args {
			side := "%IN"
			if a.store.MatchString(in.Op) && o.Text == in.Args[len(in.Args)-1].Text {
				side = "%OUT"
			}
			switch {
			case o.Kind == machine.Memory && !a.address.MatchString(in.Op):
				bases[o.Reg] = strings.NewReplacer("BASE", side, "OFF", fmt.Sprint(pointer-o.Off)).Replace(a.point)
				if o.Index != "" {
					bases[o.Index] = strings.Replace(a.number, "N", fmt.Sprint(index), 1)
				}
			case o.Kind == machine.Register && a.distance != nil && a.distance.MatchString(in.Op) && o.Text == in.Args[1].Text:
				bases[o.Text] = strings.Replace(a.number, "N", fmt.Sprint(index), 1)
			case strings.HasPrefix(o.Text, "["):
				for i, name := range words.FindAllString(o.Text, -1) {
					bases[name] = []string{strings.NewReplacer("BASE", side, "OFF", fmt.Sprint(pointer)).Replace(a.point), strings.Replace(a.number, "N", fmt.Sprint(index), 1)}[i]
				}
			case isMemory(o) && o.Kind != machine.Memory:
				text = strings.Replace(text, o.Text, fmt.Sprintf("%d(%s)", pointer, side), 1)
			}
		}
		if in.Target >= 0 {
			label := in.Args[len(in.Args)-1].Text
			text = strings.Replace(a.branch, "JUMP", strings.Replace(text, label, "yes", 1), 1)
		}
		lines = append(lines, text)
	}
	var load, store strings.Builder
	body := strings.Join(lines, "\n") + "\n"
	operands := ""
	for _, in := range group {
		for _, o := range in.Args {
			if !a.isConfig(in) && o.Kind != machine.Label && (!isMemory(o) || o.Kind == machine.Memory) {
				operands += " " + o.Text
			}
		}
	}
	used := map[string]bool{}
	for _, kind := range a.kinds {
		names := kind.name.FindAllString(operands, -1)
		slices.Sort(names)
		for _, n := range slices.Compact(names) {
			used[n] = true
			at := kind.at + kind.size*kind.number(n)
			r := strings.NewReplacer("REG", strings.Replace(n, "L", "X", 1), "NUM", digits.FindString(n), "AT", fmt.Sprint(at))
			if point := bases[n]; point != "" {
				load.WriteString(r.Replace(point))
				continue
			}
			if kind.wide != "" && strings.Contains(body, " E64,") {
				load.WriteString(r.Replace(kind.wide))
				continue
			}
			load.WriteString(r.Replace(kind.load))
			store.WriteString(r.Replace(kind.store))
		}
	}
	free := slices.DeleteFunc(slices.Clone(a.free), func(r string) bool { return used[r] })
	return strings.NewReplacer("%IN", free[0], "%OUT", free[1], "%TMP", free[2]).Replace(a.header + load.String() + body + store.String() + a.end)
}
