package amd64

import (
	"github.com/attn-go/attn/gen/prove/expr"
	"github.com/attn-go/attn/gen/prove/machine"
)

// The tiles of AMX in State.W: 16 rows of 16 words each. After them the shapes, for each tile its
// rows and the words of a row, which are constants; they are nil while no tile has a shape.
const (
	tiles      = 8
	tileRows   = 16
	tileWords  = 16
	tileSize   = tileRows * tileWords
	tileShapes = firstTile + tiles*tileSize
	tileState  = tiles*tileSize + 2*tiles
)

// tile executes an instruction of AMX. Every fault that a CPU would raise is one here. TDPBF16PS
// takes subnormals for zeros on CPUs, and not here: kernels have none, see the contract.
func (e *exec) tile() bool {
	switch e.in.Op {
	case "LDTILECFG":
		e.configureTiles()
	case "TILERELEASE":
		clear(e.W[firstTile:][:tileState])
	case "TILEZERO":
		e.shape(e.args[0])
		e.clearTile(e.args[0])
	case "TILELOADD":
		rows, words := e.shape(e.args[1])
		e.clearTile(e.args[1])
		for r := range rows {
			copy(e.tileRow(e.args[1], r), e.LoadWords(e.rowAddress(e.args[0], r), 4, words))
		}
	case "TILESTORED":
		rows, words := e.shape(e.args[0])
		for r := range rows {
			at := e.rowAddress(e.args[1], r)
			for w, x := range e.tileRow(e.args[0], r)[:words] {
				e.Store(e.g.Plus(at, int64(4*w)), x)
			}
		}
	case "TDPBSSD":
		e.multiplyTiles(e.addBytes)
	case "TDPBF16PS":
		e.multiplyTiles(e.addBFloat16)
	default:
		return false
	}
	return true
}

// configureTiles reads the shapes of all tiles, which are clear then.
func (e *exec) configureTiles() {
	at := e.address(e.args[0])
	number := func(off, size int) int {
		n := e.Load(e.g.Plus(at, int64(off)), size)
		if !n.IsConst() {
			machine.Failf("%v: byte %d of the shapes of tiles is not known: %v", e.in, off, n)
		}
		return int(n.Val)
	}
	used := map[int]bool{0: true}
	if number(0, 1) != 1 {
		machine.Failf("%v: no such palette", e.in)
	}
	for t := range tiles {
		bytes, rows := number(16+2*t, 2), number(48+t, 1)
		if rows < 1 || rows > tileRows || bytes < 4 || bytes > 4*tileWords || bytes%4 != 0 {
			machine.Failf("%v: no shape of a tile: %d rows of %d bytes", e.in, rows, bytes)
		}
		used[16+2*t], used[17+2*t], used[48+t] = true, true, true
		e.W[tileShapes+2*t], e.W[tileShapes+2*t+1] = e.g.Int(int64(rows)), e.g.Int(int64(bytes/4))
	}
	for i := range 64 {
		if !used[i] && number(i, 1) != 0 {
			machine.Failf("%v: byte %d is reserved", e.in, i)
		}
	}
	for i := range tiles * tileSize {
		e.W[firstTile+i] = e.g.Const(32, 0)
	}
}

func (e *exec) tileNumber(o machine.Operand) int {
	if len(o.Reg) != 2 || o.Reg[0] != 'T' || o.Reg[1] < '0' || o.Reg[1] >= '0'+tiles {
		machine.Failf("%v: no tile: %s", e.in, o.Text)
	}
	return int(o.Reg[1] - '0')
}

// shape returns the rows of a tile and the words of a row.
func (e *exec) shape(o machine.Operand) (rows, words int) {
	s := e.W[tileShapes+2*e.tileNumber(o):][:2]
	if s[0] == nil || s[1] == nil || !s[0].IsConst() || !s[1].IsConst() {
		machine.Failf("%v: %s has no shape", e.in, o.Text)
	}
	return int(s[0].Val), int(s[1].Val)
}

func (e *exec) tileRow(o machine.Operand, row int) []*expr.Node {
	return e.W[firstTile+e.tileNumber(o)*tileSize+row*tileWords:][:tileWords]
}

func (e *exec) clearTile(o machine.Operand) {
	for i := range tileSize {
		e.W[firstTile+e.tileNumber(o)*tileSize+i] = e.g.Const(32, 0)
	}
}

// rowAddress is where a row of a tile begins: the index is the distance of rows.
func (e *exec) rowAddress(o machine.Operand, row int) *expr.Node {
	if o.Index == "" || o.Scale != 1 {
		machine.Failf("%v: no distance of rows", e.in)
	}
	return e.g.Add(e.gp(o.Reg), e.g.Int(o.Off), e.g.Mul(e.gp(o.Index), e.g.Int(int64(row))))
}

// multiplyTiles sets the third tile. Row by row and column by column, add adds to a word what the
// words of a row of the second tile and of a column of the first one give.
func (e *exec) multiplyTiles(add func(sum *expr.Node, a, b []*expr.Node) *expr.Node) {
	b, a, c := e.args[0], e.args[1], e.args[2]
	rows, words := e.shape(c)
	aRows, depth := e.shape(a)
	bRows, bWords := e.shape(b)
	if aRows != rows || bRows != depth || bWords != words {
		machine.Failf("%v: tiles of %d×%d, %d×%d and %d×%d words", e.in, bRows, bWords, aRows, depth, rows, words)
	}
	if a.Reg == b.Reg || a.Reg == c.Reg || b.Reg == c.Reg {
		machine.Failf("%v: a tile is used twice", e.in)
	}
	column := make([]*expr.Node, depth)
	for r := range rows {
		for w := range words {
			for k := range column {
				column[k] = e.tileRow(b, k)[w]
			}
			e.tileRow(c, r)[w] = add(e.tileRow(c, r)[w], e.tileRow(a, r)[:depth], column)
		}
	}
}

// addBytes adds the products of signed bytes.
func (e *exec) addBytes(sum *expr.Node, a, b []*expr.Node) *expr.Node {
	terms := []*expr.Node{sum}
	for k := range a {
		for i := range 4 {
			x, y := e.g.Extract(a[k], 8*i, 8), e.g.Extract(b[k], 8*i, 8)
			terms = append(terms, e.g.Mul(e.g.Sext(x, 32), e.g.Sext(y, 32)))
		}
	}
	return e.g.Add(terms...)
}

// addBFloat16 adds the products of pairs of bfloat16: a chain of fused multiply-adds has the
// products of even inputs, another one the products of odd inputs. Their sum is added.
func (e *exec) addBFloat16(sum *expr.Node, a, b []*expr.Node) *expr.Node {
	chains := [2]*expr.Node{e.g.Const(32, 0), e.g.Const(32, 0)}
	for k := range a {
		for i := range chains {
			x, y := e.g.Extract(a[k], 16*i, 16), e.g.Extract(b[k], 16*i, 16)
			chains[i] = e.g.FFma(e.g.ShlBy(e.g.Zext(x, 32), 16), e.g.ShlBy(e.g.Zext(y, 32), 16), chains[i])
		}
	}
	return e.g.FAdd(sum, e.g.FAdd(chains[0], chains[1]))
}
