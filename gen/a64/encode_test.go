package a64

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/arch/arm64/arm64asm"
)

// An encoded is an encoded instruction and its text.
type encoded struct {
	word uint32
	text string
}

// all returns instructions of all encodings in the table: every register in every place,
// with registers in the other places that differ from 0 or 31 in one bit, and every lane.
func all() (list []encoded) {
	few := []int{0, 1, 2, 4, 8, 15, 16, 31}
	for _, e := range table {
		add := func(d, n, m int) {
			for lane := range 4 {
				if lane > 0 && e.form != element {
					break
				}
				word, text := e.encode(d, n, m, lane)
				list = append(list, encoded{word, text})
			}
		}
		for r := range 32 {
			for _, x := range few {
				for _, y := range few {
					if e.form == loadQ && (r == 31 || x == 31 || y == 31) {
						continue // sp or xzr, which no GP stands for
					}
					add(r, x, y)
					add(x, r, y)
					add(x, y, r)
				}
			}
		}
	}
	return list
}

// plain writes an instruction with single spaces and none after commas, and with one
// notation where the manuals have two: for zero, and for a shift by 0 that lengthens.
func plain(s string) string {
	s = strings.Join(strings.Fields(strings.ToLower(s)), " ")
	s = strings.ReplaceAll(strings.ReplaceAll(s, ", ", ","), "#0.0", "#0")
	if long, ok := strings.CutPrefix(s, "sshll"); ok && strings.HasSuffix(s, ",#0") {
		return "sxtl" + strings.TrimSuffix(long, ",#0")
	}
	return s
}

func TestEncodings(t *testing.T) {
	list := all()
	for _, e := range list {
		if err := decode(e); err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d encodings of %d instructions", len(list), len(table))
}

// decode compares the text of an instruction with its decoded word.
func decode(e encoded) error {
	inst, err := arm64asm.Decode(binary.LittleEndian.AppendUint32(nil, e.word))
	if err != nil {
		return fmt.Errorf("%#08x, %s: %w", e.word, e.text, err)
	}
	if got := arm64asm.GNUSyntax(inst); plain(got) != plain(e.text) {
		return fmt.Errorf("%#08x is %s, not %s", e.word, got, e.text)
	}
	return nil
}

// TestEncodingsLLVM is TestEncodings with another disassembler.
func TestEncodingsLLVM(t *testing.T) {
	mc, err := exec.LookPath("llvm-mc-19")
	if err != nil {
		t.Skip("NOT RUN: the encodings were not checked by LLVM, as llvm-mc-19 is missing (apt-get install llvm-19)")
	}
	list := all()
	var in bytes.Buffer
	for _, e := range list {
		for _, b := range binary.LittleEndian.AppendUint32(nil, e.word) {
			fmt.Fprintf(&in, "%#02x ", b)
		}
		in.WriteByte('\n')
	}
	// ARMv8.0 without extensions.
	cmd := exec.Command(mc, "-disassemble", "-triple=aarch64", "-mattr=+v8a")
	cmd.Stdin = &in
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %.500s", err, out)
	}
	var lines []string
	for line := range strings.Lines(string(out)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, ".") {
			lines = append(lines, line)
		}
	}
	if len(lines) != len(list) {
		t.Fatalf("%d instructions from %d words; the first lines are %q", len(lines), len(list), lines[:min(5, len(lines))])
	}
	for i, e := range list {
		if plain(lines[i]) != plain(e.text) {
			t.Errorf("%#08x is %s, not %s", e.word, lines[i], e.text)
		}
	}
}

// TestEncodingsCatch changes single bits in the table: the tests must notice each.
func TestEncodingsCatch(t *testing.T) {
	for _, e := range table {
		word, text := e.encode(1, 2, 3, 2)
		for bit := range 32 {
			if decode(encoded{word ^ 1<<bit, text}) == nil {
				t.Errorf("%s: a wrong bit %d went unnoticed", text, bit)
			}
		}
	}
}
