package linear

import (
	"github.com/attn-go/attn/internal/rows"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
)

// Products whose kernels take other rows of x than float32: quantized ones, see
// Options.DynamicInt8, or rows of bfloat16, by a unit for tiles. A goroutine converts a range of
// rows once, for all of its tasks with that range, which follow each other. To quantize them takes
// as long as the product with some 25 outputs, half of a panel. Weights lie as they are packed.

// A conversion says how tasks are cut.
type conversion struct {
	bytes int // of converted rows of a task: they stay in L2 while panels pass by,
	least int // unless so many rows are larger. With fewer ones, weights are fetched too often
	step  int // a call of a kernel takes a multiple of so many rows
	steps int // and so many inputs of a panel, which stay in L1 for all rows,
	many  int // or so many with at least step rows
	speed int // how many times as many products as FMAs a thread computes in some time, about
}

var (
	// step is a multiple of the rows of every kernel's highest tile: 16 with AMX, 24 with VNNI.
	// Without AMX, kernels widen the weights of a block once for all rows of a call: many is so low
	// that 144 rows fit into one.
	toInt8      = conversion{bytes: 256 << 10, least: 96, step: 48, steps: 1024, many: 256, speed: 2}
	toInt8Tiles = conversion{bytes: 256 << 10, least: 96, step: 48, steps: 1024, many: 768, speed: 3}

	toBFloat16 = conversion{bytes: 512 << 10, least: 32, step: 32, steps: 4096, speed: 4}
)

const (
	// stripRows is the most rows whose sums with a panel stay in L1 beside the numbers that a tile
	// unit reads.
	stripRows = 128

	// Tiles of bytes have 16 rows. From paddedRows rows on, filling a tile takes less time than
	// vectors do. Measured on a Granite Rapids with all formats.
	byteTileRows = 16
	paddedRows   = 13

	// Panels are finished together until panels times rows are so many: their sums are still in L1,
	// and a kernel that adds a bias to a single panel of a row takes less time than its call.
	latePanels = 32
)

// byteTiles tells whether a unit for tiles multiplies quantized rows.
func (j *job) byteTiles() bool {
	return j.int8 && j.linear.packed.Tiles() && j.tier.Unit().GemmTiles != nil
}

// padsRows tells whether m quantized rows are multiplied as a whole tile.
func (j *job) padsRows(m int) bool { return m >= paddedRows && m < byteTileRows && j.byteTiles() }

// vectorRows is up to how many rows that whole tiles leave take less time by vectors. Formats whose
// tiles have one sum for a block of bytes gain most by tiles. Measured as paddedRows.
func (l *Linear) vectorRows() int {
	if l.packed.Grouped() || l.packed.BFloat16Scales() || l.packed.Offset() == 0 {
		return 6
	}
	return 4
}

// convertedRows is how many of n rows a call takes, which has so many inputs and lanes.
func (j *job) convertedRows(n, inputs, lanes int, by *conversion) int {
	fmas := lanes * inputs
	if by != &toInt8 {
		fmas /= by.speed
	}
	m := ukernel.RowsPerCall(n, fmas)
	if m > by.step && m < n {
		m -= m % by.step
	}
	if left := m % byteTileRows; by == &toInt8Tiles && left <= j.linear.vectorRows() && m > byteTileRows {
		m -= left
	}
	return m
}

// tiles tells whether a unit for tiles computes the product. It does so even for a single row: that
// takes no longer than by vectors on Granite Rapids.
func (l *Linear) tiles(t *tier.Tier) bool {
	return l.rounds && l.depth() > 0 && t.Unit().GemmTiles != nil
}

// conversion returns what is made of the rows of x, or nil.
func (j *job) conversion() *conversion {
	switch {
	case j.byteTiles():
		return &toInt8Tiles
	case j.int8:
		return &toInt8
	case j.tiles:
		return &toBFloat16
	}
	return nil
}

// rowWords is the number of words from a converted row to the next.
func (j *job) rowWords() int {
	if j.tiles {
		return j.linear.tileWords()
	}
	return j.linear.depth() / ukernel.BlockSteps * ukernel.RowWords
}

// tileWords is rowWords for tiles: an odd number of lines, so that the rows of a tile lie in
// different sets of L1.
func (l *Linear) tileWords() int {
	return (l.depth()/ukernel.BlockSteps | 1) * ukernel.BlockSteps / 2
}

// rows is the most rows of a task, of so many words each.
func (c *conversion) rows(words int) int {
	whole := func(n int) int { return n / c.step * c.step }
	return min(whole(maxRows), max(c.least, whole(c.bytes/(4*words))))
}

// convertedTask computes a range of rows times some panels.
func (s *scratch) convertedTask(j *job, by *conversion, rows, panels interval) {
	l, words, most := j.linear, j.rowWords(), by.steps
	if j.x.dtype == view.BFloat16 { // they are converted
		s.tiledPanels(j, j.x.u16[rows.lo*j.x.rowStride:], rows, panels)
		return
	}
	if s.converted != rows {
		s.convert(j, rows, words)
	}
	if j.tiles {
		s.tiledPanels(j, view.As[uint16](view.BytesOf(s.codes)), rows, panels)
		return
	}
	if rows.len() >= by.step {
		most = by.many
	}
	n := rows.len()
	if j.pads {
		n = byteTileRows
	}
	size, unfinished := l.blockBytes(1), panels.lo // bytes of a lane; panels from there to p
	for p := panels.lo; p < panels.hi; p++ {
		lanes := l.panelWidth(p)
		blocks := l.blocks[p*ukernel.PanelLanes*size:][:lanes*size]
		c, ldc := s.sums(j, rows, p, 0, false)
		late := p+1 < panels.hi && (p+1-unfinished)*rows.len() < latePanels && j.inPlace(p+1)
		for k := 0; k < l.depth(); k += most {
			steps := min(most, l.depth()-k)
			for lo := 0; lo < n; {
				m := j.convertedRows(n-lo, steps, lanes, by)
				x := s.codes[lo*words+k/ukernel.BlockSteps*ukernel.RowWords:]
				j.tier.Weights().Blocks[l.packed].GemmInt8(c[lo*ldc:], ldc, x, words, blocks, lanes, m, steps, k > 0)
				hi := lo + m
				if k+steps == l.depth() && !late { // while the sums are in L1
					sums, lds := s.sums(j, rows, unfinished, 0, false)
					finish(j, interval{rows.lo + lo, min(rows.lo+hi, rows.hi)}, interval{unfinished, p + 1}, sums[lo*lds:], lds)
				}
				lo = hi
			}
			if k+steps < l.depth() {
				blocks = blocks[l.packed.PanelBytes(lanes, steps):]
			}
		}
		if !late {
			unfinished = p + 1
		}
	}
}

// tiledPanels computes a range of rows, which x has as bfloat16, times some panels by a unit for
// tiles. Up to stripRows rows keep their sums in scratch memory until all is done with them.
func (s *scratch) tiledPanels(j *job, x []uint16, rows, panels interval) {
	l, ldx, most := j.linear, 2*j.rowWords(), toBFloat16.steps
	for p := panels.lo; p < panels.hi; p++ {
		lanes, next := l.panelWidth(p), []byte(nil)
		if rows.len() > toBFloat16.step { // others read the panel once, and take no longer than it
			next = j.next(panels, p, interval{0, l.depth()})
		}
		for lo := 0; lo < rows.len(); {
			m := j.convertedRows(min(rows.len()-lo, stripRows), min(l.depth(), most), lanes, &toBFloat16)
			hi := lo + m
			for k := 0; k < l.depth(); k += most {
				steps := interval{k, min(k+most, l.depth())}
				ahead := next[len(next)*lo/rows.len() : len(next)*hi/rows.len()]
				j.tier.Unit().GemmTiles(s.edge, lanes, x[lo*ldx+k:], ldx, l.stepPairs(p, steps), lanes, m, steps.len(), k > 0, ahead)
			}
			finish(j, interval{rows.lo + lo, rows.lo + hi}, interval{p, p + 1}, s.edge, lanes)
			lo = hi
		}
	}
}

// convert writes some rows of x to the scratch's codes.
func (s *scratch) convert(j *job, some interval, words int) {
	for i := range some.len() {
		to := s.codes[i*words:][:words]
		if j.tiles {
			s.narrowRow(j, to, some.lo+i)
		} else {
			j.tier.Weights().Quantize(to, s.row(j, some.lo+i))
		}
	}
	if j.pads {
		clear(s.codes[some.len()*words : byteTileRows*words])
	}
	s.converted = some
}

// narrowRow rounds row i of x to bfloat16.
func (s *scratch) narrowRow(j *job, dst []uint32, i int) {
	to := view.As[uint16](view.BytesOf(dst))
	for row := s.row(j, i); len(row) > 0; {
		n := min(len(row), rows.MaxConvert)
		j.tier.Convert().Narrow[view.BFloat16](view.BytesOf(to), 0, row, 0, 1, n)
		j.tier.Unit().Factors(to, n, to, n, 1, n)
		to, row = to[n:], row[n:]
	}
}

// row returns row i of x without gaps.
func (s *scratch) row(j *job, i int) []float32 {
	x, k := j.x.f32[i*j.x.rowStride:], j.linear.k
	if j.x.colStride == 1 && !j.linear.hasTail() {
		return x[:k]
	}
	row := s.rows[:j.linear.depth()]
	j.copyRow(row, x, k)
	return row
}
