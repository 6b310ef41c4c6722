package kernel

// storeTokens writes the rows of batch row b of src, float32, as the newest tokens of s.
func (t *tier) storeTokens(dst *Tensor, s *Sequence, src *Tensor, b int) error {
	size := s.cache.pageSize
	first := s.length - s.start - s.fresh
	for l := 0; l < s.fresh; {
		page, row := int(s.pages[(first+l)/size]), (first+l)%size
		n := min(size-row, s.fresh-l)
		if dst.dtype == Int8 {
			if err := dst.quantizeRows(page, row, src, b, l, n); err != nil {
				return err
			}
		} else {
			t.storeRows(dst, page, row, src, b, l, n)
		}
		l += n
	}
	return nil
}

// storeRows writes n rows of all heads, from row l of batch row b of src on, to a page from row on.
// It goes through src in the order of its memory.
func (t *tier) storeRows(dst *Tensor, page, row int, src *Tensor, b, l, n int) {
	type dimension struct{ n, dst, src int } // size and strides
	outer, inner := dimension{dst.shape[1], dst.stride[1], src.stride[1]}, dimension{n, dst.stride[2], src.stride[2]}
	if outer.src < inner.src {
		outer, inner = inner, outer
	}
	d := dst.shape[3]
	if inner.dst == d && inner.src == d { // all of them are as good as one
		d *= inner.n
		outer, inner = dimension{n: 1}, outer
	}
	to, from := dst.at(page, 0, row), src.f32[src.index(b, 0, l):]
	for i := range outer.n {
		to, from := to+i*outer.dst, from[i*outer.src:]
		if dst.dtype != Float32 {
			t.narrowRows(dst, to, inner.dst, from, inner.src, inner.n, d)
			continue
		}
		for r := range inner.n {
			copyPieces(dst.f32[to+r*inner.dst:][:d], from[r*inner.src:])
		}
	}
}

// copyPieces is copy, as far as dst reaches, in pieces of 512 bytes. What moves more at
// once may begin late and let nothing overtake it, as the string instructions that Go
// takes on some processors: a token's row, on its way to memory that is in no cache,
// takes half as long again with them.
func copyPieces(dst, src []float32) {
	const piece = 128
	for len(dst) > piece {
		copy(dst[:piece], src)
		dst, src = dst[piece:], src[piece:]
	}
	copy(dst, src)
}

// narrowRows writes n rows of d numbers, lds apart, as rows of an F16 or BF16 tensor, ldd
// apart, of which the first begins at to.
func (t *tier) narrowRows(dst *Tensor, to, ldd int, src []float32, lds, n, d int) {
	narrow := t.convert().narrowHalves(dst.dtype)
	for r := 0; r < n; {
		rows := min(n-r, max(1, widenFloats/d))
		narrow(dst.u16()[to+r*ldd:], ldd, src[r*lds:], lds, rows, d)
		r += rows
	}
}

// quantizeRows is storeRows for Int8.
func (t *Tensor) quantizeRows(page, row int, src *Tensor, b, l, n int) error {
	s, d := t.scales, t.shape[3]
	groups := s.shape[3]
	for h := range t.shape[1] {
		for r := range n {
			at, scales, from := t.at(page, h, row+r), s.at(page, h, row+r), src.index(b, h, l+r)
			if err := QuantizeInt8(t.i8()[at:at+d], s.f32[scales:scales+groups], src.f32[from:from+d], d/groups); err != nil {
				return err
			}
		}
	}
	return nil
}

// copyPage copies the first n rows of a page to another one.
func (t *Tensor) copyPage(to, from, n int) {
	switch t.dtype {
	case Float32:
		copyPage(t.f32, &t.grid, to, from, n)
	case Int8:
		copyPage(t.i8(), &t.grid, to, from, n)
		t.scales.copyPage(to, from, n)
	default:
		copyPage(t.u16(), &t.grid, to, from, n)
	}
}

func copyPage[E any](data []E, g *grid, to, from, n int) {
	heads, d := g.shape[1], g.shape[3]
	if g.stride[1] == d {
		heads, d = 1, heads*d
	}
	for h := range heads {
		copyRows(data[g.at(to, h, 0):], g.stride[2], data[g.at(from, h, 0):], g.stride[2], n, d)
	}
}

// copyRows copies n rows of d elements, lds apart, to rows ldd apart.
func copyRows[E any](dst []E, ldd int, src []E, lds, n, d int) {
	if ldd == d && lds == d {
		copy(dst[:n*d], src)
		return
	}
	for r := range n {
		copy(dst[r*ldd:][:d], src[r*lds:])
	}
}
