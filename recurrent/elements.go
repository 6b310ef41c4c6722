package recurrent

import "github.com/attn-go/attn/internal/rows"

// With a decay for each element x of a key, D[i][j] is a number for each x, and a factor in the
// product of k[i] and k[j]. With e[i] = exp(g[i]),
//
//	D[i][j][x] = e[j+1][x]·e[j+2][x]·...·e[i][x]
//
// The keys of the segment of i decay in place, token by token. Keys of earlier segments decayed so
// to the ends of their segments, and then by whole segments. Row i has the factors since then. So
// no factor is above 1, most pairs are in products of many rows, and what follows is as with a
// decay of 0.

// rowsSize is the size of head.rows: e, and rows of keys and queries with their factors, for S and
// for keys of earlier segments.
func (l *Layer) rowsSize() int {
	if l.Rule.byElement() {
		return 5 * segment * l.KeySize
	}
	return 0
}

// productsByElement is products for rows of one segment.
func (c *call) productsByElement(h *head, number, at, lo, hi int) {
	n, size, columns, first := hi-lo, c.KeySize, c.columns(), lo/segment*segment
	h.begin(lo, first, size)
	part := func(i int) []float32 { return h.rows[i*segment*size:][:n*size] }
	e, keys, queries := part(0), [2][]float32{part(1), part(2)}, [2][]float32{part(3), part(4)}
	q, k := c.keysOf(&c.q, number, at, n), c.keysOf(&c.k, number, at, n)
	ldq, ldk := c.q.Stride(2), c.k.Stride(2)
	for i := range n {
		g, e := c.decay[((at+i)*c.Heads+number)*size:], e[i*size:][:size]
		c.exp(e, func(x int) float64 { return float64(g[x]) })
		for x, y := range e {
			chunks, segments := float32(h.g[x]*y), float32(h.g[size+x]*y)
			h.g[x], h.g[size+x] = chunks, segments
			keys[0][i*size+x], keys[1][i*size+x] = float32(k[i*ldk+x]*chunks), float32(k[i*ldk+x]*segments)
			queries[0][i*size+x], queries[1][i*size+x] = float32(q[i*ldq+x]*chunks), float32(q[i*ldq+x]*segments)
		}
	}
	rows := func(to, products []float32, of [2][]float32) {
		c.tier.Product(to[lo*columns:], columns, of[0], size, 1, h.s, columns, n, columns, size, size, false)
		if first > 0 {
			c.tier.Product(products[lo*chunk:], chunk, of[1], size, 1, h.kt, chunk, n, first, size, size, false)
		}
	}
	if c.Rule.corrects() {
		rows(h.u, h.kk, keys)
	}
	rows(h.o, h.qk, queries)
	for i := range n {
		h.decay(e[i*size:][:size], first, lo+i)
		for x, y := range k[i*ldk:][:size] {
			h.kt[x*chunk+lo+i] = y
		}
		if c.Rule.corrects() {
			c.tier.Product(h.kk[(lo+i)*chunk+first:], chunk, k[i*ldk:], ldk, 1, h.kt[first:], chunk, 1, segment, size, size, false)
		}
		c.tier.Product(h.qk[(lo+i)*chunk+first:], chunk, q[i*ldq:], ldq, 1, h.kt[first:], chunk, 1, segment, size, size, false)
	}
}

// begin sets the decays since the beginning of the chunk, h.g[:size], and of the segment, which
// follow them, to 1 there.
func (h *head) begin(row, first, size int) {
	clear(h.sums[:])
	if row == 0 {
		rows.Fill(h.g, 1)
	} else if row == first {
		h.decay(h.g[size:], 0, first-segment)
		rows.Fill(h.g[size:], 1)
	}
}

// decay multiplies the keys lo to hi-1 of the chunk.
func (h *head) decay(by []float32, lo, hi int) {
	for x, d := range by {
		for j, y := range h.kt[x*chunk:][lo:hi] {
			h.kt[x*chunk+lo+j] = float32(d * y)
		}
	}
}

// endByElement lets S and the keys decay to the end of the chunk.
func (c *call) endByElement(h *head) {
	columns := c.columns()
	for x, d := range h.g[:c.KeySize] {
		for i, y := range h.s[x*columns:][:columns] {
			h.s[x*columns+i] = float32(d * y)
		}
	}
	h.decay(h.g[c.KeySize:], 0, chunk-segment)
}
