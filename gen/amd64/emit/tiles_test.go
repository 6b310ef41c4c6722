package emit

import (
	"bytes"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestTilesLLVM decodes the instructions of AMX by LLVM, with every tile and every register in
// every place.
func TestTilesLLVM(t *testing.T) {
	mc, err := exec.LookPath("llvm-mc-19")
	if err != nil {
		t.Skip("NOT RUN: the encodings were not checked by LLVM, as llvm-mc-19 is missing (apt-get install llvm-19)")
	}
	list := tileInstructions()
	var in bytes.Buffer
	for _, text := range list {
		asm, err := EncodeTiles([]byte("\t" + text))
		if err != nil {
			t.Fatal(err)
		}
		code, comment, _ := strings.Cut(string(asm), " // ")
		if comment != text {
			t.Fatalf("the comment is %q, want %q", comment, text)
		}
		in.WriteString(strings.NewReplacer("BYTE $", "", ";", "", "\t", "").Replace(code) + "\n")
	}
	cmd := exec.Command(mc, "--disassemble", "--triple=x86_64", "--mattr=+amx-tile,+amx-int8,+amx-bf16")
	cmd.Stdin = &in
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(string(out), "\t.text\n", "")), "\n")
	if len(lines) != len(list) {
		t.Fatalf("%d instructions decode to %d lines: %.300s", len(list), len(lines), out)
	}
	for i, line := range lines {
		line, _, _ = strings.Cut(line, "#")
		if got, want := strings.Join(strings.Fields(line), " "), gnuSyntax(list[i]); got != want {
			t.Errorf("%s decodes to %s, want %s", list[i], got, want)
		}
	}
	t.Logf("%d instructions", len(list))
}

// tileInstructions lists instructions as Go's assembler would have them.
func tileInstructions() (list []string) {
	gp := strings.Fields("AX CX DX BX SP BP SI DI R8 R9 R10 R11 R12 R13 R14 R15")
	var memory, indexed []string
	for i, base := range gp {
		for _, disp := range []string{"", "1", "-128", "127", "128", "-129", "1000000"} {
			memory = append(memory, disp+"("+base+")")
			for j, index := range gp {
				if index != "SP" && (disp == "" || j == (i+3)%len(gp)) {
					indexed = append(indexed, fmt.Sprintf("%s(%s)(%s*%d)", disp, base, index, 1<<((i+j)%4)))
				}
			}
		}
	}
	for _, m := range memory {
		list = append(list, "LDTILECFG "+m)
	}
	for i, m := range indexed {
		list = append(list, fmt.Sprintf("TILELOADD %s, T%d", m, i%8), fmt.Sprintf("TILESTORED T%d, %s", i%8, m))
	}
	for i := range 8 {
		list = append(list, fmt.Sprintf("TILEZERO T%d", i))
		for j := range 8 {
			for k := range 8 {
				for _, op := range []string{"TDPBSSD", "TDPBF16PS"} {
					if i != j && j != k && i != k {
						list = append(list, fmt.Sprintf("%s T%d, T%d, T%d", op, i, j, k))
					}
				}
			}
		}
	}
	return append(list, "TILERELEASE")
}

var (
	goMemory = regexp.MustCompile(`\((\w+)\)(?:\((\w+)\*(\d)\))?`)
	goTile   = regexp.MustCompile(`\bT(\d)\b`)
)

// gnuSyntax is an instruction as LLVM writes it.
func gnuSyntax(text string) string {
	text = goMemory.ReplaceAllStringFunc(text, func(s string) string {
		m := goMemory.FindStringSubmatch(s)
		name := func(r string) string {
			if _, ok := gpCodes[r]; ok {
				return "%r" + r
			}
			return "%" + r
		}
		switch {
		case m[2] == "":
			return "(" + name(m[1]) + ")"
		case m[3] == "1":
			return "(" + name(m[1]) + "," + name(m[2]) + ")"
		}
		return "(" + name(m[1]) + "," + name(m[2]) + "," + m[3] + ")"
	})
	return strings.ToLower(goTile.ReplaceAllString(text, "%tmm$1"))
}

// TestNoTiles finds operands that the instructions of AMX do not have.
func TestNoTiles(t *testing.T) {
	for _, text := range []string{"TILEZERO T8", "TILELOADD (AX), T0", "LDTILECFG (AX)(BX*1)", "TILELOADD (AX)(SP*1), T0", "TILELOADD (R16)(AX*1), T0"} {
		if asm, err := EncodeTiles([]byte("\t" + text)); err == nil {
			t.Errorf("%s becomes %s", text, asm)
		}
	}
}
