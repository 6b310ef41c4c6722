package riscv

import (
	"fmt"
	"strings"
	"testing"
)

// TestLintCatches: each function has one fault.
func TestLintCatches(t *testing.T) {
	for _, test := range []struct {
		name, want string
		body       func(f *Func)
	}{
		{"a register that was not allocated", "X5 is not allocated", func(f *Func) { f.Op("MOV", 1, GP{5}); f.Ret() }},
		{"a reserved register", "X27 is the goroutine", func(f *Func) { f.Op("MOV", 1, GP{27}); f.Ret() }},
		{"an address of one", "X2 is the stack pointer", func(f *Func) { f.Op("MOV", At(GP{2}, 8), f.GP()); f.Ret() }},
		{"a write to a parameter", "writes parameter n+24(FP)", func(f *Func) { f.Op("MOV", Zero, f.Param("n")); f.Ret() }},
		{"a parameter that is not there", "no parameter y", func(f *Func) { f.Load(f.Param("y")); f.Ret() }},
		{"a table that is not there", "no table t", func(f *Func) { f.Address("t"); f.Ret() }},
		{"no vector type", "no vector type is in force", func(f *Func) { f.Op("VMVVI", 0, f.Vec(1)); f.Ret() }},
		{"another vector type", "V2 is no group of 1 registers", func(f *Func) {
			f.SetLanes(Zero, 1, f.GP())
			f.Op("VMVVI", 0, f.Vec(2))
			f.Ret()
		}},
		{"a vector after its scope", "V1 is not allocated", func(f *Func) {
			var v Vec
			f.Scope(func() { v = f.Vec(1) })
			f.SetLanes(Zero, 1, f.GP())
			f.Op("VMVVI", 0, v)
			f.Ret()
		}},
		{"an unknown instruction", "VFMAXVV with 3 operands is not known", func(f *Func) {
			f.SetLanes(Zero, 1, f.GP())
			v := f.Vec(1)
			f.Op("VFMAXVV", v, v, v)
			f.Ret()
		}},
		{"a mask elsewhere", "masks lie in V0", func(f *Func) {
			f.SetLanes(Zero, 1, f.GP())
			v := f.Vec(1)
			f.Op("VMFLTVV", v, v, v)
			f.Ret()
		}},
		{"a mask where a vector lies", "masks lie in V0", func(f *Func) {
			f.SetLanes(Zero, 2, f.GP())
			v := f.AtV0(2)
			f.Op("VMFLTVV", v, v, V0)
			f.Ret()
		}},
		{"two vector types at a label", "label end: groups of 1 and of 2 registers", func(f *Func) {
			n := f.GP()
			f.SetLanes(Zero, 1, n)
			f.Jump("BEQZ", "end", n)
			f.SetLanes(Zero, 2, n)
			f.Label("end")
			f.Ret()
		}},
		{"no vector type after ForgetLanes", "no vector type is in force", func(f *Func) {
			f.SetLanes(Zero, 1, f.GP())
			f.ForgetLanes()
			f.Op("VMVVI", 0, f.Vec(1))
			f.Ret()
		}},
		{"a label that is not there", "no label end", func(f *Func) { f.Jump("JMP", "end") }},
		{"a label without a jump", "label end has no jump to it", func(f *Func) { f.Label("end"); f.Ret() }},
		{"a label twice", "label end is set twice", func(f *Func) { f.Label("end"); f.Label("end"); f.Jump("JMP", "end") }},
		{"no return", "continues after its end", func(f *Func) { f.Op("MOV", 1, f.GP()) }},
	} {
		file := NewFile("asm", "riscv64")
		test.body(file.Func("F", "(x []float32, n int)", "F is a test."))
		if _, _, err := file.Build(); err == nil || !strings.Contains(err.Error(), "F: ") || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want F: %q", test.name, err, test.want)
		}
	}
}

// TestRegisters: groups begin at multiples of their size and never meet the register of masks, and
// no register is given away twice.
func TestRegisters(t *testing.T) {
	for size, most := range map[int]int{1: 31, 2: 15, 4: 7} {
		f := NewFile("asm", "riscv64").Func("F", "()", "F is a test.")
		for i, v := range f.Vecs(most, size) {
			if v.n != (i+1)*size {
				t.Errorf("group %d of %d registers is %v", i, size, v)
			}
		}
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, "out of groups") {
					t.Errorf("group %d of %d registers: panic %q", most, size, got)
				}
			}()
			f.Vec(size)
		}()
	}
}
