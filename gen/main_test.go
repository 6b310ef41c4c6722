package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/mmcloughlin/avo/reg"
)

// committed is the root of the repository.
const committed = ".."

// TestCommitted compares the committed files with what the generator makes: every
// file, and in package asm no other.
func TestCommitted(t *testing.T) {
	files, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(committed, name))
		if err != nil {
			t.Error(err)
			continue
		}
		if line := firstDifference(got, want); line > 0 {
			t.Errorf("%s differs from what gen makes, from line %d on: go run ./gen writes it anew", name, line)
		}
	}
	entries, err := os.ReadDir(filepath.Join(committed, asmDir))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if files[asmDir+"/"+e.Name()] == nil {
			t.Errorf("asm/%s does not come from gen: nothing in there is written by hand", e.Name())
		}
	}
}

// firstDifference returns the number of the first line that differs, 0 if none
// does.
func firstDifference(x, y []byte) int {
	xs, ys := bytes.Split(x, []byte("\n")), bytes.Split(y, []byte("\n"))
	for i := range max(len(xs), len(ys)) {
		if i >= len(xs) || i >= len(ys) || !bytes.Equal(xs[i], ys[i]) {
			return i + 1
		}
	}
	return 0
}

// TestReproducible generates twice.
func TestReproducible(t *testing.T) {
	first, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	second, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	for name := range first {
		if line := firstDifference(first[name], second[name]); line > 0 {
			t.Errorf("%s differs from one time to the next, from line %d on", name, line)
		}
	}
}

// A crowded ISA is AVX2 with more accumulators than there are registers.
type crowded struct{ avx2 }

func (crowded) tiles() []tileShape { return []tileShape{{2, 8}} }

// TestNothingOnFailure: an ISA that fails leaves no file behind, not even those
// of the ISAs before it.
func TestNothingOnFailure(t *testing.T) {
	defer func(list []architecture) { architectures = list }(architectures)
	architectures = []architecture{{"amd64", []output{amd64(avx2{}), amd64(crowded{})}, buildPauseAMD64}}
	files, err := generate()
	if err == nil || files != nil {
		t.Errorf("generate() = %d files, %v; want none and an error", len(files), err)
	}
}

// TestAddress compares the address of every row of A with what it stands for.
func TestAddress(t *testing.T) {
	for _, i := range []isa{avx2{}, avx512{}} {
		for _, s := range i.tiles() {
			g := &gen{isa: i}
			tl := &tiler{gen: g, vectors: s.vectors, odd: map[int]reg.GPVirtual{}}
			c := reg.NewCollection()
			multiple := map[reg.Register]int{}
			for o := 1; o < max(2, s.rows); o += 2 {
				tl.odd[o] = c.GP64()
				multiple[tl.odd[o]] = o
			}
			p := c.GP64()
			for row := range s.rows {
				m := tl.address(p, row)
				if m.Base != p || m.Disp != 0 || multiple[m.Index]*int(m.Scale) != row {
					t.Errorf("%s, %d vectors: the address of row %d is %v: %d·%d rows", i.name(), s.vectors, row, m.Asm(), multiple[m.Index], m.Scale)
				}
			}
		}
	}
}
