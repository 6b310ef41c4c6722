package tier

import (
	"github.com/attn-go/attn/asm"
	"github.com/attn-go/attn/fallback"
	"github.com/attn-go/attn/internal/ukernel"
)

// Tiles returns the kernels for query tiles, narrowest first.
func (t *Tier) Tiles() []ukernel.TileKernels {
	if k := t.tables.tiles.Load(); k != nil {
		return *k
	}
	tiles := make([]ukernel.TileKernels, len(t.Widths))
	for i, w := range t.Widths {
		tiles[i] = ukernel.TileKernels{Lanes: w, Products: t.products()[i], LaneKernels: *lay(t, w, fallback.Lanes(), asm.Lanes)}
	}
	return *keep(&t.tables.tiles, &tiles)
}

// Tile returns the kernels of the narrowest tile with at least n lanes, or of the widest.
func (t *Tier) Tile(n int) *ukernel.TileKernels {
	tiles := t.Tiles()
	for i := range tiles {
		if tiles[i].Lanes >= n {
			return &tiles[i]
		}
	}
	return &tiles[len(tiles)-1]
}

// Gradients returns the kernels of the backward pass for query tiles of a width, which may be a
// joined tile's, see WideTile.
func (t *Tier) Gradients(lanes int) *ukernel.Gradients {
	all := t.tables.gradients.Load()
	if all == nil {
		list := make([]ukernel.Gradients, len(t.Widths))
		for i, w := range t.Widths {
			list[i] = *lay(t, w, fallback.Gradients(), asm.Gradients)
		}
		all = keep(&t.tables.gradients, &list)
	}
	for i, w := range t.Widths {
		if w >= lanes {
			return &(*all)[i]
		}
	}
	return &(*all)[len(*all)-1]
}

// products returns the matrix products for the widths of query tiles.
func (t *Tier) products() []ukernel.Products {
	if k := t.tables.products.Load(); k != nil {
		return *k
	}
	list := make([]ukernel.Products, len(t.Widths))
	for i, w := range t.Widths {
		list[i] = *lay(t, w, fallback.Products(w), ofWidth(w))
	}
	return *keep(&t.tables.products, &list)
}

// ofWidth returns the products for query tiles of a width in assembly.
func ofWidth(w int) (overrides []ukernel.Override[ukernel.Products]) {
	for _, l := range asm.Products {
		if l.Lanes == w {
			overrides = append(overrides, l)
		}
	}
	return overrides
}

// Product is Products.Gemm for any number of lanes that is a multiple of the narrowest tile's. Each
// call of a kernel takes as many columns as the fastest tile has lanes, or what is left of them,
// and no more rows than RowsPerCall allows.
func (t *Tier) Product(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, lanes, k, seg int, load bool) {
	products := t.products()
	for at := 0; at < lanes; {
		x := t.fitting(lanes - at)
		w := t.Widths[x]
		for i, n := 0, 0; i < m; i += n {
			n = ukernel.RowsPerCall(m-i, w*k)
			products[x].Gemm(c[i*ldc+at:], ldc, a[min(i*rs, len(a)):], rs, cs, b[min(at, len(b)):], ldb, n, k, seg, load)
		}
		at += w
	}
}

// Products returns the matrix products for the tile that Tile returns, and its width.
func (t *Tier) Products(n int) (*ukernel.Products, int) {
	for i, w := range t.Widths {
		if w >= n || i == len(t.Widths)-1 {
			return &t.products()[i], w
		}
	}
	panic("attn: a tier without tiles")
}

// fitting returns the number of the widest tile up to MainLanes that n lanes fill, or the narrowest
// of all.
func (t *Tier) fitting(n int) (tile int) {
	for i, w := range t.Widths {
		if w <= t.MainLanes && w <= n {
			tile = i
		}
	}
	return tile
}

// WideTile returns the kernels of the narrowest tile with at least n ≤ MaxLanes lanes. If the
// tier has none, its products are made of several narrower ones.
func (t *Tier) WideTile(n int) *ukernel.TileKernels {
	if n <= t.Widest() {
		return t.Tile(n)
	}
	all := t.tables.joined.Load()
	if all == nil {
		var list []ukernel.TileKernels
		for lanes := wideStep; lanes <= ukernel.MaxLanes; lanes += wideStep {
			if lanes > t.Widest() {
				list = append(list, t.join(lanes))
			}
		}
		all = keep(&t.tables.joined, &list)
	}
	for i := range *all {
		if tile := &(*all)[i]; tile.Lanes >= n {
			return tile
		}
	}
	panic("attn: a tile of more than MaxLanes lanes")
}

// wideStep is the distance of the widths of joined tiles. The narrowest tile of each tier divides
// it.
const wideStep = 16

// join returns the kernels of a tile that is as wide as several others. It has no GemmMerge:
// outputs are merged in tiles of the tier alone.
func (t *Tier) join(lanes int) ukernel.TileKernels {
	return ukernel.TileKernels{
		Lanes:       lanes,
		LaneKernels: t.Tile(t.Widest()).LaneKernels,
		Products: ukernel.Products{
			Gemm: func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k, seg int, load bool) {
				t.Product(c, ldc, a, rs, cs, b, ldb, m, lanes, k, seg, load)
			},
			GemmMax: func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k, seg int, max []float32) {
				for at := 0; at < lanes; {
					x := t.fitting(lanes - at)
					w := t.Widths[x]
					t.products()[x].GemmMax(c[at:], ldc, a, rs, cs, b[min(at, len(b)):], ldb, m, k, seg, max[at:at+w])
					at += w
				}
			},
		},
	}
}
