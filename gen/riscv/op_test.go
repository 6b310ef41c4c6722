package riscv

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestEncodings assembles every instruction of vectors by Go's assembler, with registers that
// differ from each other, and compares the manual's text with LLVM's disassembly.
func TestEncodings(t *testing.T) {
	objdump, err := exec.LookPath("llvm-objdump-19")
	if err != nil {
		t.Skip("NOT RUN: the encodings were not checked by LLVM, as llvm-objdump-19 is missing (apt-get install llvm-19)")
	}
	var source, want []string
	for _, name := range slices.Sorted(maps.Keys(vectorOps)) {
		for _, first := range []int{1, 2, 4, 8, 16, 5} {
			text, manual := example(name, first)
			source, want = append(source, "\t"+text), append(want, manual)
		}
	}
	for _, size := range []int{1, 2, 4, 8} {
		source = append(source, fmt.Sprintf("\tVSETVLI X10, E32, M%d, TA, MA, X11", size))
		want = append(want, fmt.Sprintf("vsetvli a1,a0,e32,m%d,ta,ma", size))
		source = append(source, fmt.Sprintf("\tVSETVLI X10, E32, M%d, TU, MA, X11", size))
		want = append(want, fmt.Sprintf("vsetvli a1,a0,e32,m%d,tu,ma", size))
	}
	got := disassemble(t, objdump, source)
	if len(got) < len(want) {
		t.Fatalf("%d instructions, want %d", len(got), len(want))
	}
	for i, w := range want {
		if got[i] != w {
			t.Errorf("%s is %s, want %s", strings.TrimSpace(source[i]), got[i], w)
		}
	}
	t.Logf("%d encodings of %d instructions", len(want), len(vectorOps))
}

// example returns an instruction for Go's assembler and as the manual writes it.
func example(name string, first int) (text, manual string) {
	op := vectorOps[name]
	var here, there []string
	for i, kind := range op.form.kinds() {
		n := (first+7*i)%31 + 1
		h, m := "", ""
		switch kind {
		case "m", "h", "q", "w", "s":
			h, m = fmt.Sprintf("V%d", n), fmt.Sprintf("v%d", n)
		case "v":
			h, m = "V0", "v0"
		case "f":
			h, m = "F10", "fa0"
		case "x":
			h, m = "X10", "a0"
		case "p":
			h, m = "(X10)", "(a0)"
		case "i":
			h, m = "$5", "0x5"
		}
		here, there = append(here, h), append(there, m)
	}
	ordered := make([]string, len(op.order))
	for i, at := range op.order {
		ordered[i] = there[at-'0']
	}
	return name + " " + strings.Join(here, ", "), op.manual + " " + strings.Join(ordered, ",")
}

// disassemble assembles lines as a function and returns the instructions as LLVM prints them.
func disassemble(t *testing.T, objdump string, source []string) (lines []string) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":      "module encodings\n",
		"main.go":     "package main\n\nfunc f()\n\nfunc main() { f() }\n",
		"f_riscv64.s": "TEXT ·f(SB), 4, $0-0\n" + strings.Join(source, "\n") + "\n\tRET\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.Command("go", "build", "-o", "program", ".")
	build.Dir = dir
	build.Env = append(os.Environ(), "GOWORK=off", "GOOS=linux", "GOARCH=riscv64", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command(objdump, "-d", "--mattr=+v,+f,+d", "--no-show-raw-insn", "--disassemble-symbols=main.f.abi0", filepath.Join(dir, "program")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, m := range regexp.MustCompile(`(?m)^ *[0-9a-f]+:\s+(\S+)[ \t]*(.*)$`).FindAllStringSubmatch(string(out), -1) {
		lines = append(lines, m[1]+" "+strings.ReplaceAll(m[2], " ", ""))
	}
	return lines
}
