package ukernel

// Product is TileKernels.Gemm for any number of lanes that is a multiple of the narrowest
// tile's. Each call of a kernel takes as many columns as the fastest tile has lanes, or what
// is left of them, and no more rows than RowsPerCall allows.
func (t *Tier) Product(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, lanes, k, seg int, load bool) {
	for at := 0; at < lanes; {
		kern := t.piece(lanes - at)
		for i, n := 0, 0; i < m; i += n {
			n = RowsPerCall(m-i, kern.Lanes*k)
			kern.Gemm(c[i*ldc+at:], ldc, a[min(i*rs, len(a)):], rs, cs, b[min(at, len(b)):], ldb, n, k, seg, load)
		}
		at += kern.Lanes
	}
}

// piece returns the widest tile up to MainLanes that n lanes fill, or the narrowest of all.
func (t *Tier) piece(n int) *TileKernels {
	piece := &t.Tiles[0]
	for i := range t.Tiles {
		if lanes := t.Tiles[i].Lanes; lanes <= t.MainLanes && lanes <= n {
			piece = &t.Tiles[i]
		}
	}
	return piece
}

// WideTile returns the kernels of the narrowest tile with at least n ≤ MaxLanes lanes. If the
// tier has none, its products are made of several narrower ones.
func (t *Tier) WideTile(n int) *TileKernels {
	if kern := t.Tile(n); kern.Lanes >= n {
		return kern
	}
	for i := range t.wide {
		if t.wide[i].Lanes >= n {
			return &t.wide[i]
		}
	}
	panic("attn: a tile of more than MaxLanes lanes")
}

func init() {
	for i := range Tiers {
		t := &Tiers[i]
		for lanes := wideStep; lanes <= MaxLanes; lanes += wideStep {
			if lanes > t.Widest().Lanes {
				t.wide = append(t.wide, t.joined(lanes))
			}
		}
	}
}

// wideStep is the distance of the widths of joined tiles: a multiple of all narrowest tiles.
const wideStep = 16

// joined returns the kernels of a tile that is as wide as several others. It has no GemmMerge: outputs
// are merged in tiles of the tier alone.
func (t *Tier) joined(lanes int) TileKernels {
	return TileKernels{
		Lanes:       lanes,
		LaneKernels: t.Widest().LaneKernels,
		Gemm: func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k, seg int, load bool) {
			t.Product(c, ldc, a, rs, cs, b, ldb, m, lanes, k, seg, load)
		},
		GemmMax: func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k, seg int, max []float32) {
			for at := 0; at < lanes; {
				kern := t.piece(lanes - at)
				kern.GemmMax(c[at:], ldc, a, rs, cs, b[min(at, len(b)):], ldb, m, k, seg, max[at:at+kern.Lanes])
				at += kern.Lanes
			}
		},
	}
}
