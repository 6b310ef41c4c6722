package neon

import (
	"github.com/attn-go/attn/gen/a64"
	"github.com/attn-go/attn/gen/spec"
)

// single emits the test whether there is more to do than to store a single segment.
func (t *gemmer) single() {
	t.first, t.more, t.rest = t.Param("k").Local(), t.Len("c").Local(), t.Cap("c").Local()
	t.left, t.adds, t.height, t.start = t.Len("a").Local(), t.Cap("a").Local(), t.Len("b").Local(), t.Cap("b").Local()
	t.Load(t.Param("k"), t.k)
	t.loadSegment(t.p)
	t.Op("CMP", t.p, t.k)
	t.Jump("BGT", "cut")
	if t.epilogue == spec.Store {
		t.Load(t.Param("load"), t.k)
		t.Jump("CBNZ", "cut", t.k)
	} else {
		t.Op("MOVD", 0, t.k)
	}
	t.Op("MOVD", t.k, t.more) // 0
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
	t.loadFlag(t.k)
	t.Op("MOVD", t.k, t.adds)
	t.Op("MOVD", 1, t.k)
	t.Op("MOVD", t.k, t.more)
	t.Jump("B", "tiles")
}

// loadSegment loads the number of steps of a segment.
func (t *gemmer) loadSegment(r a64.GP) {
	if t.isWeights {
		t.Op("MOVD", spec.InputSegment, r)
	} else {
		t.Load(t.Param("seg"), r)
	}
}

// limit limits a number of steps to those of a segment.
func (t *gemmer) limit(k, segment a64.GP) {
	t.loadSegment(segment)
	t.Op("CMP", segment, k)
	t.Op("CSEL", a64.LT, k, segment, k)
}

// loadFlag loads whether C is the first summand.
func (t *gemmer) loadFlag(r a64.GP) {
	if t.epilogue == spec.Store {
		t.Load(t.Param("load"), r)
	} else {
		t.Op("MOVD", 0, r)
	}
}
