package a64

import (
	"fmt"
	"strings"
	"testing"
)

// build builds a file of one function.
func build(body func(f *Func)) error {
	file := NewFile("asm", "arm64")
	body(file.Func("F", "(x []float32, n int, load bool) uint64", "F is a test."))
	_, _, err := file.Build()
	return err
}

func TestLintCatches(t *testing.T) {
	type test struct {
		name, want string
		body       func(f *Func)
	}
	tests := []test{
		{"a register that was not allocated", "R3 is not allocated", func(f *Func) {
			f.Op("MOVD", 1, R(3))
			f.Ret()
		}},
		{"a register after it was freed", "R0 is not allocated", func(f *Func) {
			r := f.GP()
			f.Free(r)
			f.Op("ADD", 1, r, r)
			f.Ret()
		}},
		{"a vector after its scope", "V0 is not allocated", func(f *Func) {
			var v Vec
			f.Scope(func() { v = f.Vec() })
			f.FADD(v, v, v)
			f.Ret()
		}},
		{"a vector of a pair that was not allocated", "V7 is not allocated", func(f *Func) {
			f.Op("FLDPQ", At(f.GP(), 0), Pair{f.Vec(), Vec{7}})
			f.Ret()
		}},
		{"a write to a parameter", "writes parameter n+24(FP)", func(f *Func) {
			r := f.GP()
			f.Op("MOVD", 0, r)
			f.Op("MOVD", r, f.Param("n"))
			f.Ret()
		}},
		{"a parameter that is not there", "no parameter y", func(f *Func) {
			f.Load(f.Param("y"), f.GP())
			f.Ret()
		}},
		{"a slice as a number", "no parameter x", func(f *Func) {
			f.Load(f.Param("x"), f.GP())
			f.Ret()
		}},
		{"an address with a register that is not free", "R26 is the closure's context", func(f *Func) {
			f.Op("FMOVQ", At(R(26), 16), f.Vec())
			f.Ret()
		}},
		{"an index that is not free", "R28 is the goroutine", func(f *Func) {
			f.LDRQ(f.Vec(), f.GP(), R(28))
			f.Ret()
		}},
		{"a lane that is not there", "lane 4", func(f *Func) {
			v := f.Vec()
			f.FMLALane(v, v, v.S(4))
			f.Ret()
		}},
		{"a label that is not there", "no label end", func(f *Func) {
			f.Jump("B", "end")
		}},
		{"a label twice", "label end is set twice", func(f *Func) {
			f.Label("end")
			f.Label("end")
			f.Jump("B", "end")
		}},
		{"a label without a jump", "label end has no jump to it", func(f *Func) {
			f.Label("end")
			f.Ret()
		}},
		{"no return", "continues after its end", func(f *Func) {
			f.Jump("CBZ", "end", f.GP())
			f.Label("end")
		}},
		{"a global that is not there", "no global table", func(f *Func) {
			f.Op("MOVD", Global("table"), f.GP())
			f.Ret()
		}},
		{"the stack pointer in the text", "RSP is not free", func(f *Func) {
			f.lines = append(f.lines, "\tMOVD 8(RSP), R0")
			f.Ret()
		}},
		{"a register in the text", "R27 is the assembler's temporary", func(f *Func) {
			f.lines = append(f.lines, "\tADD R27<<2, R0, R0")
			f.Ret()
		}},
	}
	for n, why := range forbidden {
		tests = append(tests, test{fmt.Sprintf("R%d", n), fmt.Sprintf("R%d is %s", n, why), func(f *Func) {
			f.Op("MOVD", 1, R(n))
			f.Ret()
		}})
	}
	for _, test := range tests {
		if err := build(test.body); err == nil || !strings.Contains(err.Error(), "F: ") || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want F: %q", test.name, err, test.want)
		}
	}
}

// TestRegisters: all free registers can be allocated, and no others.
func TestRegisters(t *testing.T) {
	err := build(func(f *Func) {
		for n := range 25 {
			r := f.GP()
			if forbidden[r.n] != "" {
				t.Errorf("register %d is R%d, %s", n, r.n, forbidden[r.n])
			}
			f.Op("MOVD", 1, r)
		}
		for _, v := range f.Vecs(32) {
			f.FADD(v, v, v)
		}
		if n := f.FreeVecs(); n != 0 {
			t.Errorf("%d of 32 vectors are left", n)
		}
		f.Ret()
	})
	if err != nil {
		t.Error(err)
	}
}

func TestPanics(t *testing.T) {
	for _, test := range []struct {
		name, want string
		body       func(f *Func)
	}{
		{"26 general registers", "F: out of general registers", func(f *Func) {
			for range 26 {
				f.GP()
			}
		}},
		{"33 vectors", "F: out of vector registers", func(f *Func) { f.Vecs(33) }},
		{"freeing twice", "F: R0 is freed but not in use", func(f *Func) {
			r := f.GP()
			f.Free(r)
			f.Free(r)
		}},
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, test.want) {
					t.Errorf("%s: panic %q, want %q", test.name, got, test.want)
				}
			}()
			_ = build(test.body)
		}()
	}
}

func TestSignature(t *testing.T) {
	s, err := parseSignature("(c []float32, ldc, m int, scale float32, load bool, off []int, deep bool) uint64")
	if err != nil {
		t.Fatal(err)
	}
	want := []int{0, 24, 32, 40, 44, 48, 72}
	for i, p := range s.params {
		if p.offset != want[i] {
			t.Errorf("%s is at %d, want %d", p.name, p.offset, want[i])
		}
	}
	if s.result.offset != 80 || s.size != 88 {
		t.Errorf("result at %d, %d bytes in all; want 80 and 88", s.result.offset, s.size)
	}
	if s, err := parseSignature("(n int, load bool)"); err != nil || s.size != 9 {
		t.Errorf("%d bytes, %v; want 9", s.size, err)
	}
	s, err = parseSignature("(a struct{C []float32; M, K int; Load bool}) uint64")
	if err != nil {
		t.Fatal(err)
	}
	if m := s.params[1]; m.name != "a_M" || m.offset != 24 || s.result.offset != 48 {
		t.Errorf("field %s at %d, result at %d; want a_M at 24, and 48", m.name, m.offset, s.result.offset)
	}
	for _, bad := range []string{"(x string)", "(n int", "(n int) (x, y int)", "(a struct{N int}, m int)"} {
		if _, err := parseSignature(bad); err == nil {
			t.Errorf("%s: no error", bad)
		}
	}
}

// TestFile compares a whole file with the expected one.
func TestFile(t *testing.T) {
	file := NewFile("asm", "arm64 && !purego")
	table := file.Data("table", 0x3f800000)
	f := file.Func("F", "(x []float32, n int) uint64", "F is a test.")
	p, n, v := f.GP(), f.GP(), f.Vec()
	f.Op("MOVD", table, p)
	f.Load(f.Len("x"), n)
	f.Commentf("Round and round.")
	f.Label("loop")
	f.Op("FMOVQ", At(p, 16), v)
	f.FMLALane(v, v, v.S(2))
	f.Op("SUBS", 1, n, n)
	f.Jump("BNE", "loop")
	f.Op("MOVD", n, f.Result())
	f.Ret()
	asm, stubs, err := file.Build()
	if err != nil {
		t.Fatal(err)
	}
	const wantAsm = `// Code generated by gen. DO NOT EDIT.

//go:build arm64 && !purego

#include "textflag.h"

DATA table<>+0(SB)/4, $0x3f800000
GLOBL table<>(SB), RODATA|NOPTR, $4

// func F(x []float32, n int) uint64
TEXT ·F(SB), NOSPLIT, $0-40
	MOVD $table<>(SB), R0
	MOVD x_len+8(FP), R1

	// Round and round.
loop:
	FMOVQ 16(R0), F0
	WORD $0x4f801800 // fmla v0.4s, v0.4s, v0.s[2]
	SUBS $1, R1, R1
	BNE loop
	MOVD R1, ret+32(FP)
	RET
`
	const wantStubs = `// Code generated by gen. DO NOT EDIT.

//go:build arm64 && !purego

package asm

// F is a test.
//
//go:noescape
func F(x []float32, n int) uint64
`
	if string(asm) != wantAsm {
		t.Errorf("assembly:\n%s", asm)
	}
	if string(stubs) != wantStubs {
		t.Errorf("stubs:\n%s", stubs)
	}
}
