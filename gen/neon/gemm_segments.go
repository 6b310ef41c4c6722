package neon

import "github.com/attn-go/attn/gen/a64"

// single emits the test whether a product has a single segment that is not added to C.
func (t *gemmer) single() {
	if t.segment > 0 {
		t.Op("MOVD", storeOne, t.b)
		t.Op("MOVD", t.b, t.mode)
	} else {
		t.Load(t.mode, t.b)
		t.Op("CMP", merge, t.b) // it has one
		t.Jump("BEQ", "tiles")
	}
	t.Load(t.Param("k"), t.k)
	t.loadSegment(t.p)
	t.Op("CMP", t.p, t.k)
	t.Jump("BGT", "cut")
	if t.segment == 0 {
		t.Jump("CBNZ", "tiles", t.b)
	}
	t.Load(t.Param("load"), t.k)
	t.Jump("CBNZ", "cut", t.k)
	t.Label("tiles")
}

// cut emits the cut into segments.
func (t *gemmer) cut() {
	t.Commentf("There are several segments, or C is the first summand.")
	t.Label("cut")
	t.Load(t.Param("k"), t.b)
	t.Op("MOVD", t.b, t.k)
	t.limit(t.k, t.p)
	t.Op("SUB", t.k, t.b, t.b)
	t.Op("MOVD", t.k, t.first)
	t.Op("MOVD", t.b, t.rest)
	t.Op("MOVD", t.b, t.left)
	t.Load(t.mode, t.p)
	t.Op("MOVD", 0, t.k)
	t.Jump("CBNZ", "begins", t.p)
	t.Load(t.Param("load"), t.k)
	t.Label("begins")
	t.Op("MOVD", t.k, t.adds)
	t.Op("MOVD", t.k, t.begins)
	t.Op("ADD", 1, t.p, t.p)
	t.Op("MOVD", t.p, t.mode)
	t.Jump("B", "tiles")
}

// loadSegment loads the number of steps of a segment.
func (t *gemmer) loadSegment(r a64.GP) {
	if t.segment > 0 {
		t.Op("MOVD", t.segment, r)
	} else {
		t.Load(t.Param("seg"), r)
	}
}

// limit limits a number of steps to a segment's.
func (t *gemmer) limit(k, segment a64.GP) {
	t.loadSegment(segment)
	t.Op("CMP", segment, k)
	t.Op("CSEL", a64.LT, k, segment, k)
}
