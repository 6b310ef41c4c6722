package amd64

import (
	"testing"

	"github.com/attn-go/attn/gen/amd64/emit"
	"github.com/attn-go/attn/gen/spec"
	"github.com/mmcloughlin/avo/reg"
)

// A crowded ISA is AVX2 with more accumulators than there are registers.
type crowded struct{ emit.AVX2 }

func (crowded) Tiles() []spec.TileShape { return []spec.TileShape{{Vectors: 2, Rows: 8}} }

// TestCrowded: an ISA that fails gives no output.
func TestCrowded(t *testing.T) {
	contracts, err := spec.ReadContracts("../..")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := Generator(crowded{})(contracts); err == nil || out.Asm != nil || out.Stubs != nil {
		t.Errorf("%d bytes of assembly, %v; want none and an error", len(out.Asm), err)
	}
}

// TestAddress compares the address of every row of A with the row that it is for.
func TestAddress(t *testing.T) {
	for _, i := range []emit.ISA{emit.AVX2{}, emit.AVX512{}} {
		for _, s := range i.Tiles() {
			g := &gen{Gen: &emit.Gen{ISA: i}}
			e := &gemmer{g: g, vectors: s.Vectors, odd: map[int]reg.GPVirtual{}}
			c := reg.NewCollection()
			multiple := map[reg.Register]int{}
			for o := 1; o < max(2, s.Rows); o += 2 {
				e.odd[o] = c.GP64()
				multiple[e.odd[o]] = o
			}
			p := c.GP64()
			for row := range s.Rows {
				m := e.address(p, row)
				if m.Base != p || m.Disp != 0 || multiple[m.Index]*int(m.Scale) != row {
					t.Errorf("%s, %d vectors: the address of row %d is %v: %d·%d rows", i.Name(), s.Vectors, row, m.Asm(), multiple[m.Index], m.Scale)
				}
			}
		}
	}
}
