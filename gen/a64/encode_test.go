package a64

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"golang.org/x/arch/arm64/arm64asm"
)

// An encoded is an encoded instruction and its text.
type encoded struct {
	word uint32
	text string
}

// base returns the encodings in the table of instructions of ARMv8.0. arm64asm knows no others.
func base() (list []encoding) {
	for _, e := range table {
		if e.needs() == "" {
			list = append(list, e)
		}
	}
	return list
}

// all returns instructions of encodings: every register in every place,
// with registers in the other places that differ from 0 or 31 in one bit, and every lane.
func all(encodings []encoding) (list []encoded) {
	few := []int{0, 1, 2, 4, 8, 15, 16, 31}
	for _, e := range encodings {
		add := func(d, n, m int) {
			for lane := range 4 {
				if lane > 0 && !e.hasLanes() {
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
	list := all(base())
	for _, e := range list {
		if err := decode(e); err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d encodings of %d instructions", len(list), len(base()))
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

// TestEncodingsLLVM is TestEncodings with another disassembler, and with all instructions.
func TestEncodingsLLVM(t *testing.T) {
	mc := llvm(t)
	if err := decodeLLVM(mc, "+v8a", all(base())); err != nil {
		t.Error(err)
	}
	if err := decodeLLVM(mc, "+v8a,+dotprod", all(table)); err != nil {
		t.Error(err)
	}
}

// llvm returns LLVM's disassembler, or skips the test.
func llvm(t *testing.T) string {
	mc, err := exec.LookPath("llvm-mc-19")
	if err != nil {
		t.Skip("NOT RUN: the encodings were not checked by LLVM, as llvm-mc-19 is missing (apt-get install llvm-19)")
	}
	return mc
}

// decodeLLVM is decode for a list, on a CPU with some features.
func decodeLLVM(mc, features string, list []encoded) error {
	var in bytes.Buffer
	for _, e := range list {
		for _, b := range binary.LittleEndian.AppendUint32(nil, e.word) {
			fmt.Fprintf(&in, "%#02x ", b)
		}
		in.WriteByte('\n')
	}
	cmd := exec.Command(mc, "-disassemble", "-triple=aarch64", "-mattr="+features)
	cmd.Stdin = &in
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%v: %.500s", err, out)
	}
	var lines []string
	for line := range strings.Lines(string(out)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, ".") {
			lines = append(lines, line)
		}
	}
	if len(lines) != len(list) {
		return fmt.Errorf("%d instructions from %d words; the first lines are %q", len(lines), len(list), lines[:min(5, len(lines))])
	}
	for i, e := range list {
		if plain(lines[i]) != plain(e.text) {
			return fmt.Errorf("%#08x is %s, not %s", e.word, lines[i], e.text)
		}
	}
	return nil
}

// TestEncodingsCatch changes single bits in the table: the tests must notice each.
func TestEncodingsCatch(t *testing.T) {
	catch(t, base(), decode)
}

// TestEncodingsCatchLLVM does the same for the encodings that arm64asm does not know.
func TestEncodingsCatchLLVM(t *testing.T) {
	mc := llvm(t)
	catch(t, slices.DeleteFunc(slices.Clone(table), func(e encoding) bool { return e.needs() == "" }), func(e encoded) error {
		return decodeLLVM(mc, "+v8a,+dotprod", []encoded{e})
	})
}

func catch(t *testing.T, encodings []encoding, decode func(encoded) error) {
	for _, e := range encodings {
		word, text := e.encode(1, 2, 3, 2)
		for bit := range 32 {
			if decode(encoded{word ^ 1<<bit, text}) == nil {
				t.Errorf("%s: a wrong bit %d went unnoticed", text, bit)
			}
		}
	}
}
