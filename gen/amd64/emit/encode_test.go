package emit

import (
	"bytes"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestEncodeLLVM decodes the instructions by LLVM, with every tile and every register in every
// place.
func TestEncodeLLVM(t *testing.T) {
	mc, err := exec.LookPath("llvm-mc-19")
	if err != nil {
		t.Skip("NOT RUN: the encodings were not checked by LLVM, as llvm-mc-19 is missing (apt-get install llvm-19)")
	}
	list := append(tileInstructions(), vectorInstructions()...)
	var in bytes.Buffer
	for _, text := range list {
		asm, err := Encode([]byte("\t" + text))
		if err != nil {
			t.Fatal(err)
		}
		code, comment, _ := strings.Cut(string(asm), " // ")
		if comment != strings.TrimPrefix(text, vexVNNI) {
			t.Fatalf("the comment is %q, want %q", comment, text)
		}
		in.WriteString(strings.NewReplacer("BYTE $", "", ";", "", "\t", "").Replace(code) + "\n")
	}
	cmd := exec.Command(mc, "--disassemble", "--triple=x86_64", "--mattr=+amx-tile,+amx-int8,+amx-bf16,+avxvnni")
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

// memoryOperands are operands without an index and with one.
func memoryOperands() (memory, indexed []string) {
	gp := strings.Fields("AX CX DX BX SP BP SI DI R8 R9 R10 R11 R12 R13 R14 R15")
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
	return memory, indexed
}

// vectorInstructions lists instructions of AVX-VNNI as Go's assembler would have them.
func vectorInstructions() (list []string) {
	memory, indexed := memoryOperands()
	for i, m := range append(memory, indexed...) {
		list = append(list, fmt.Sprintf("%sVPDPBUSD %s, Y%d, Y%d", vexVNNI, m, i%16, (i+i/16)%16))
	}
	for i := range 16 {
		for j := range 16 {
			list = append(list, fmt.Sprintf("%sVPDPBUSD Y%d, Y%d, Y%d", vexVNNI, i, j, (i+j)%16))
		}
	}
	return list
}

// tileInstructions lists instructions of AMX as Go's assembler would have them.
func tileInstructions() (list []string) {
	memory, indexed := memoryOperands()
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
	goVector = regexp.MustCompile(`\bY(\d+)\b`)
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
	text = goVector.ReplaceAllString(goTile.ReplaceAllString(text, "%tmm$1"), "%ymm$1")
	if rest, is := strings.CutPrefix(text, vexVNNI); is {
		text = "{vex} " + rest
	}
	return strings.ToLower(text)
}

// TestNoOperands finds operands that the instructions do not have.
func TestNoOperands(t *testing.T) {
	for _, text := range []string{"TILEZERO T8", "TILEZERO Y1", vexVNNI + "VPDPBUSD Y16, Y0, Y0", vexVNNI + "VPDPBUSD Y0, T0, Y0", vexVNNI + "VPDPBUSD Y0, (AX), Y0", "TILELOADD (AX), T0", "LDTILECFG (AX)(BX*1)", "TILELOADD (AX)(SP*1), T0", "TILELOADD (R16)(AX*1), T0"} {
		if asm, err := Encode([]byte("\t" + text)); err == nil {
			t.Errorf("%s becomes %s", text, asm)
		}
	}
}
