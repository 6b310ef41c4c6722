package hardware

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/gen/prove/expr"
	"github.com/attn-go/attn/gen/prove/machine"
	"golang.org/x/sys/cpu"
)

const root = "../../.."

// emulators execute programs of other architectures.
var emulators = map[string][]string{"arm64": {"qemu-aarch64-static"}, "riscv64": {"qemu-riscv64-static", "-cpu", "rv64,v=true,vext_spec=v1.0,vlen=128"}}

// TestInstructions executes each form of an instruction in package asm on a CPU, or an emulator,
// and by its interpreter.
func TestInstructions(t *testing.T) {
	trials := 24
	if testing.Short() {
		trials = 4
	}
	for i := range arches {
		a := &arches[i]
		t.Run(a.goarch, func(t *testing.T) {
			emulator := emulators[a.goarch]
			switch {
			case a.goarch == runtime.GOARCH && (a.goarch != "amd64" || cpu.X86.HasAVX512F) && a.goarch != "riscv64":
				emulator = nil
			case emulator == nil:
				t.Skipf("no CPU of %s is at hand, and no emulator", a.goarch)
			default:
				if _, err := exec.LookPath(emulator[0]); err != nil {
					t.Skip(err)
				}
			}
			var list []snippet
			seen := map[string]bool{}
			for _, f := range a.files {
				list = append(list, a.snippets(read(t, filepath.Join(root, "asm", f+"_"+a.goarch+".s")), seen)...)
			}
			try(t, a, emulator, list, trials, states(len(list)*trials), nil)
			t.Logf("%d forms of instructions, %d states each", len(list), trials)
		})
	}
}

// try executes each function on some states, by an emulator or without, and by the interpreter.
// Files are of the program that does so, beside its own.
func try(t *testing.T, a *arch, emulator []string, list []snippet, trials int, input []byte, files map[string]string) {
	t.Helper()
	program := build(t, a, list, trials, files)
	command := append(slices.Clone(emulator), program)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin = bytes.NewReader(input)
	cmd.Stderr = os.Stderr
	output, err := cmd.Output()
	if err != nil || len(output) != len(input) {
		t.Fatalf("%v: %v, %d bytes of %d", cmd, err, len(output), len(input))
	}
	text := &strings.Builder{}
	for i, s := range list {
		fmt.Fprintf(text, "TEXT ·i%d(SB), NOSPLIT, $0-48\n%s", i, s.text)
	}
	file, err := machine.Read(text.String())
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range list {
		for j := range trials {
			at := (i*trials + j) * stateSize
			if err := compare(a, file, i, input[at:][:stateSize], output[at:][:stateSize]); err != nil {
				t.Errorf("%s: %v", s.form, err)
				break
			}
		}
	}
}

func read(t *testing.T, name string) *machine.File {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	f, err := machine.Read(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

const program = `package main

import (
	"bufio"
	"io"
	"os"
)

func main() {
	r, w := bufio.NewReader(os.Stdin), bufio.NewWriter(os.Stdout)
	defer w.Flush()
	in := make([]byte, %[2]d)
	for _, f := range functions {
		for range %[1]d {
			out := make([]byte, %[2]d)
			if _, err := io.ReadFull(r, in); err != nil {
				panic(err)
			}
			f(in, out)
			w.Write(out)
		}
	}
}
`

// build makes a program that executes the functions, each on some states. It has files beside its
// own.
func build(t *testing.T, a *arch, list []snippet, trials int, files map[string]string) string {
	t.Helper()
	var asm, stubs strings.Builder
	asm.WriteString("#include \"textflag.h\"\n")
	stubs.WriteString("package main\n\nvar functions = []func(in, out []byte){")
	for i := range list {
		fmt.Fprintf(&stubs, "i%d, ", i)
	}
	stubs.WriteString("}\n")
	for i, s := range list {
		fmt.Fprintf(&stubs, "\n//go:noescape\nfunc i%d(in, out []byte)\n", i)
		fmt.Fprintf(&asm, "\nTEXT ·i%d(SB), NOSPLIT, $0-48\n%s", i, s.text)
	}
	dir := t.TempDir()
	all := map[string]string{"go.mod": "module snippets\n\ngo 1.24\n", "main.go": fmt.Sprintf(program, trials, stateSize),
		"stubs.go": stubs.String(), "asm_" + a.goarch + ".s": asm.String()}
	maps.Copy(all, files)
	for name, text := range all {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "build", "-o", "snippets", ".")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOARCH="+a.goarch, "GOOS=linux", "CGO_ENABLED=0", "GOWORK=off")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return filepath.Join(dir, "snippets")
}

var special = []uint32{0, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001, 0x7f800001, 1, 0x80000001, 0x7fffff, 0x800000,
	0x3f800000, 0xbf800000, 0x7f7fffff, 0x4b000000, 0x3f000000, 0xffffffff, 0x7fffffff}

// states are words of all kinds: numbers of common size, whole numbers, special ones and any.
func states(n int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, n*stateSize)
	for i := 0; i < len(b); i += 4 {
		v := r.Uint32()
		switch (r.IntN(6) + i/stateSize) % 6 {
		case 0, 1:
			v = r.Uint32N(2)<<31 | (110+r.Uint32N(40))<<23 | r.Uint32N(1<<23)
		case 2:
			v = special[r.IntN(len(special))]
		case 3:
			v = r.Uint32N(64) - 32
		}
		binary.LittleEndian.PutUint32(b[i:], v)
	}
	return b
}

// compare has the interpreter execute a function, and compares what it stores with what the CPU has
// stored.
func compare(a *arch, file *machine.File, i int, in, out []byte) error {
	g := expr.New()
	regions := map[string]*machine.Region{}
	args := machine.NewRegion(g, "arguments", 48)
	for at, name := range map[int]string{0: "in", 24: "out"} {
		r := machine.NewRegion(g, name, stateSize)
		r.ReadOnly = name == "in"
		regions[name] = r
		args.SetWord(at, r.Base)
		args.SetWord(at+8, g.Int(stateSize))
		args.SetWord(at+16, g.Int(stateSize))
	}
	for at := 0; at < stateSize; at += 4 {
		regions["in"].SetWord(at, g.Const(32, uint64(binary.LittleEndian.Uint32(in[at:]))))
	}
	run := machine.NewRun(g, file, a.isa, args, regions["in"], regions["out"])
	if err := run.Call(fmt.Sprintf("i%d", i)); err != nil {
		return err
	}
	words := regions["out"].Words(g, 4)
	for k, w := range words {
		got := binary.LittleEndian.Uint32(out[4*k:])
		switch {
		case w == nil || a.open && !w.IsConst():
			continue
		case !w.IsConst():
			return fmt.Errorf("word %d is %v", k, w)
		case uint32(w.Val) == got || expr.SameFloat(w.Val, uint64(got)):
			continue
		case k%2 == 0 && words[k+1] != nil && isNaN64(w.Val, words[k+1].Val) && isNaN64(uint64(got), uint64(binary.LittleEndian.Uint32(out[4*k+4:]))):
			continue
		}
		return fmt.Errorf("word %d is %#x, the interpreter says %#x", k, got, w.Val)
	}
	return nil
}

func isNaN64(lo, hi uint64) bool { return (hi&0x7fffffff)<<32|lo > 0x7ff<<52 }
