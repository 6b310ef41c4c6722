package abi0

import "testing"

func TestSignature(t *testing.T) {
	s, err := Parse("(c []float32, ldc, m int, scale float32, load bool, off []int, deep bool) uint64")
	if err != nil {
		t.Fatal(err)
	}
	want := []int{0, 24, 32, 40, 44, 48, 72}
	for i, p := range s.Params {
		if p.Offset != want[i] {
			t.Errorf("%s is at %d, want %d", p.Name, p.Offset, want[i])
		}
	}
	if s.Result.Offset != 80 || s.Size != 88 {
		t.Errorf("result at %d, %d bytes in all; want 80 and 88", s.Result.Offset, s.Size)
	}
	if s, err := Parse("(n int, load bool)"); err != nil || s.Size != 9 {
		t.Errorf("%d bytes, %v; want 9", s.Size, err)
	}
	s, err = Parse("(a struct{C []float32; M, K int; Load bool}) uint64")
	if err != nil {
		t.Fatal(err)
	}
	if m := s.Params[1]; m.Name != "a_M" || m.Offset != 24 || s.Result.Offset != 48 {
		t.Errorf("field %s at %d, result at %d; want a_M at 24, and 48", m.Name, m.Offset, s.Result.Offset)
	}
	for _, bad := range []string{"(x string)", "(n int", "(n int) (x, y int)", "(a struct{N int}, m int)"} {
		if _, err := Parse(bad); err == nil {
			t.Errorf("%s: no error", bad)
		}
	}
}
