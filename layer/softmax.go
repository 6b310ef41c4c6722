package layer

import (
	"github.com/attn-go/attn/internal/elementwise"
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/rows"
	"github.com/attn-go/attn/internal/scalar"
)

// An element takes as long as so many FMAs of a product, on Zen 4.
const (
	softmaxFMAs         = 55
	softmaxBackwardFMAs = 35
)

var (
	softmax         = elementwise.Function{Name: "layer.Softmax", Args: []string{"dst", "src"}, Size: "n", Outputs: 1, Like: 1, ElementFMAs: softmaxFMAs, Do: softmaxRows}
	softmaxBackward = elementwise.Function{Name: "layer.SoftmaxBackward", Args: []string{"dx", "dy", "y"}, Size: "n", Outputs: 1, Like: 2, ElementFMAs: softmaxBackwardFMAs, Do: softmaxBackwardRows}
)

// Rows are computed some at a time, as many as their sums have lanes. Together they stay in L2.
const (
	manyRows  = 16
	fewRows   = 8
	longerRow = 1024 // elements, for fewRows
)

// A rowStat has what is found out of some rows.
type rowStat struct {
	top, tops      [manyRows]float32
	sums, inverses [manyRows]float64
	hidden         [manyRows]bool // all scores are -Inf
}

var rowStats = parallel.FreeList[rowStat]{}

// rowsAt returns how many of the rows from r on are computed at a time. valid is how many elements
// of each count.
func rowsAt(c *elementwise.Call, r int) (n, valid int) {
	n, valid = manyRows, c.Size
	if c.Size > longerRow {
		n = fewRows
	}
	n = min(n, c.Rows-r)
	if c.Ints != nil {
		each := c.All / len(c.Ints)
		at := c.First + r
		valid = c.Ints[at/each]
		n = min(n, each-at%each)
	}
	return n, valid
}

// softmaxRows turns the scores of rows into weights.
func softmaxRows(c *elementwise.Call) {
	for r := 0; r < c.Rows; {
		n, valid := rowsAt(c, r)
		dst, src := c.Slices[0][r*c.Size:][:n*c.Size], c.Slices[1][r*c.Size:][:n*c.Size]
		if valid > 0 {
			softmaxOf(c, dst, src, n, valid)
		}
		for i := range n {
			clear(dst[i*c.Size:][valid:c.Size])
		}
		r += n
	}
}

// softmaxOf turns n rows of valid scores into weights.
func softmaxOf(c *elementwise.Call, dst, src []float32, n, valid int) {
	memory := rowStats.Get()
	k, top, sums, inverses := c.Tier.Rows(), memory.top[:n], memory.sums[:n], memory.inverses[:n]
	if n == manyRows {
		k.Largest(top, src, c.Size, valid)
	}
	for i := range n {
		row := src[i*c.Size:][:valid]
		if n < manyRows {
			top[i] = rows.Largest(c.Tier, row, memory.tops[:])
		}
		memory.hidden[i] = top[i] == scalar.NegInf && !hasNaN(row)
	}
	eachPart(n, valid, func(at, d int) { k.Powers(dst[at:], src[at:], c.Size, n, d, top) })
	sumsOf(k.Sums, sums, dst, c.Size, valid)
	for i, sum := range sums {
		inverses[i] = 1 / sum
	}
	eachPart(n, valid, func(at, d int) { k.Quotients(dst[at:], c.Size, n, d, sums, inverses) })
	for i, sum := range sums {
		switch row := dst[i*c.Size:][:valid]; {
		case memory.hidden[i]:
			clear(row)
		case sum != sum:
			rows.Fill(row, scalar.NaN)
		}
	}
	rowStats.Put(memory)
}

// partElements is how many elements one call of a kernel takes, in which the goroutine cannot be
// preempted. It bounds rows that are longer than what elementwise.Function takes at a time.
const partElements = 1 << 15

// eachPart calls f for parts of the columns of n rows of d, with the first column of each and their
// number.
func eachPart(n, d int, f func(at, d int)) {
	for at, step := 0, max(1, partElements/n); at < d; at += step {
		f(at, min(step, d-at))
	}
}

// sumsOf sets the sums of rows. One row has a single chain, which takes longer in lanes.
func sumsOf(kernel func(sums []float64, x []float32, ld, d int), sums []float64, x []float32, ld, d int) {
	if len(sums) > 1 {
		kernel(sums, x, ld, d)
		return
	}
	sum := 0.0
	for _, x := range x[:d] {
		sum += float64(x)
	}
	sums[0] = sum
}

// dotsOf sets the sums of the products of rows where x is not 0. Of finite numbers the others are
// zeros, which change no sum: a sum that begins with +0 is never -0. So only a sum that is not
// finite is computed once more.
func dotsOf(kernel func(sums []float64, x, y []float32, ld, d int), sums []float64, x, y []float32, size int) {
	one := len(sums) == 1 // has a single chain, as in sumsOf
	if !one {
		kernel(sums, x, y, size, size)
	}
	for i, sum := range sums {
		if one || !isFinite(sum) {
			sums[i] = dotWhere(x[i*size:][:size], y[i*size:][:size])
		}
	}
}

func dotWhere(x, y []float32) (sum float64) {
	for j, x := range x {
		if x != 0 {
			sum += float64(x) * float64(y[j]) // exact
		}
	}
	return sum
}

func isFinite(x float64) bool { return x-x == 0 }

func hasNaN(row []float32) bool {
	for _, x := range row {
		if x != x {
			return true
		}
	}
	return false
}

// softmaxBackwardRows computes the gradients of rows. In a row with a NaN the sum is not finite:
// products of finite numbers of 32 bits, and differences to a finite sum, are finite in binary64.
func softmaxBackwardRows(c *elementwise.Call) {
	k, memory := c.Tier.Rows(), rowStats.Get()
	for r := 0; r < c.Rows; {
		n, size := rowsAt(c, r)
		sums, dx, dy, y := memory.sums[:n], c.Slices[0][r*size:], c.Slices[1][r*size:], c.Slices[2][r*size:]
		dotsOf(k.Dots, sums, y, dy, size)
		eachPart(n, size, func(at, d int) { k.SoftmaxGradients(dx[at:], dy[at:], y[at:], size, n, d, sums) })
		for i, sum := range sums {
			if !isFinite(sum) {
				rows.Canonize(dx[i*size:][:size])
			}
		}
		r += n
	}
	rowStats.Put(memory)
}
