// Package retrieval scores passages by the vectors of their tokens, as late interaction does
// (ColBERT): [MaxSim].
//
// A score has the same bits on every CPU, with any number of threads, and whatever other passages
// are in the call. The numeric contract, package contract, defines them.
package retrieval

import (
	"cmp"
	"fmt"
	"math"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/elementwise"
	"github.com/attn-go/attn/internal/hugepages"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/rows"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
)

// The most that a call takes.
const (
	MostTokens  = 1 << 13 // vectors of a query
	MostSize    = 1 << 13 // elements of a vector
	MostPassage = 1 << 24 // vectors of a passage
)

// MaxSim writes the scores of a query for passages, as ColBERT has them (Khattab, Zaharia 2020):
// scores[i] is the sum, over the vectors of the query, of the largest scalar product with a vector
// of passage i. query is [1, 1, tokens, D], float32. passages is [len(scores), 1, tokens, D],
// float32, float16 or bfloat16; [kernel.Tensor.Ragged] makes passages of all sizes of one tensor.
// scores shares no memory with them.
//
// A product that is NaN counts as none. A passage without vectors has the score -Inf, if the query
// has one.
//
// In the steady state a call allocates nothing, see [kernel.ReleaseMemory]. An error is a
// [*kernel.Error], and leaves scores untouched.
func MaxSim(scores []float32, query, passages kernel.Tensor, exec kernel.Exec) error {
	c := call{scores: scores, query: view.Tensor(query), passages: view.Tensor(passages)}
	t, err := elementwise.Begin("retrieval.MaxSim", &exec, c.check())
	if err != nil {
		return err
	}
	if view.Races {
		c.query.AnnounceAll(view.Read)
		c.passages.AnnounceAll(view.Read)
		view.Announce(view.Write, c.scores)
	}
	c.tile = t.Tile(min(max(1, c.query.Dim(2)), t.Widest()))
	c.tier = t
	if len(scores) == 0 {
		return nil
	}
	p := queries.Get()
	if f := c.pack(p); f != nil {
		queries.Put(p)
		return (*kernel.Error)(f.In("retrieval.MaxSim"))
	}
	calls.Run(&c, len(scores), c.work()/float64(t.ThreadFMAs), c.numbers(), exec.Threads, exec.ParallelFor)
	queries.Put(p)
	return nil
}

// A call holds the arguments of one call.
type call struct {
	tier            *tier.Tier
	tile            *ukernel.TileKernels
	scores          []float32
	query, passages view.Tensor
	packed          []float32 // [panels, D, lanes]: the query
}

// check reports the first argument that does not fit.
func (c *call) check() *check.Failure {
	if f := cmp.Or(c.query.CheckPlainFloats("query"), c.passages.Check("passages")); f != nil {
		return f
	}
	q, p := c.query.Shape(), c.passages.Shape()
	if q[0] != 1 || q[1] != 1 || q[2] > MostTokens || q[3] < 1 || q[3] > MostSize {
		return &check.Failure{Where: "query", Got: c.query.Describe(), Want: fmt.Sprintf("[1, 1, tokens, D] with up to %d tokens and D from 1 to %d", MostTokens, MostSize)}
	}
	if want := [4]int{len(c.scores), 1, p[2], q[3]}; p != want || p[2] > MostPassage || !c.passages.IsFloat() {
		return &check.Failure{Where: "passages", Got: c.passages.Describe(), Want: fmt.Sprintf("float32, float16 or bfloat16 [%d, 1, tokens, %d], not paged, with up to %d tokens", want[0], want[3], MostPassage)}
	}
	return view.CheckApart(1, []string{"scores", "query", "passages"}, view.MemoryOf(c.scores), c.query.Memory(), c.passages.Memory())
}

// work is how many FMAs a call takes, at least 1.
func (c *call) work() float64 {
	total := 1
	for i := range c.scores {
		total += c.passages.Length(i)
	}
	return float64(ints.MulSat(total, ints.MulSat(c.panels()*c.tile.Lanes, c.query.Dim(3))))
}

// panels is how many tiles the vectors of the query fill.
func (c *call) panels() int { return (c.query.Dim(2) + c.tile.Lanes - 1) / c.tile.Lanes }

// mostRows is the most vectors of a passage that are computed together.
const mostRows = 64

// rows is how many vectors of a passage are computed together.
func (c *call) rows() int {
	return min(mostRows, ukernel.RowsPerCall(mostRows, c.tile.Lanes*c.query.Dim(3)))
}

// numbers is the size of a scratch.
func (c *call) numbers() int {
	n := c.rows() * c.tile.Lanes
	if c.passages.DType() != view.Float32 {
		n += c.rows() * c.query.Dim(3)
	}
	return n + c.panels()*c.tile.Lanes
}

// A scratch is the memory of one goroutine of a call.
type scratch struct {
	largest  []float32 // [panels, lanes]: of products with the passage
	products []float32 // [rows, lanes]
	wide     []float32 // [rows, D], of passages that are not float32

	numbers []float32
	usage   parallel.Usage
	memory  parallel.Memory
}

// A packed is the memory of a query, which all goroutines of a call read.
type packed struct {
	panels []float32 // [panels, D, lanes]
	usage  parallel.Usage
	memory parallel.Memory
}

var (
	calls     = parallel.Loop[call, scratch]{Scratch: &scratches, Fit: (*call).fit, Do: (*call).passagesOf}
	scratches = parallel.FreeList[scratch]{Memory: func(s *scratch) *parallel.Memory { return &s.memory }}
	queries   = parallel.FreeList[packed]{Memory: func(p *packed) *parallel.Memory { return &p.memory }}
)

// pack packs the query: lane i of a panel is vector i. Lanes without one are zeros. It reports a
// query that does not fit memory: a few numbers can be many vectors.
func (c *call) pack(p *packed) *check.Failure {
	lanes, d := c.tile.Lanes, c.query.Dim(3)
	n := c.panels() * lanes * d
	if len(p.panels) < n && !hugepages.Fits(n, 4) {
		return check.TooLarge("query", c.query.Describe())
	}
	parallel.Fit(&p.memory, &p.usage, &p.panels, n, parallel.Make[float32])
	c.packed = p.panels[:n]
	clear(c.packed)
	for i := range c.query.Dim(2) {
		panel := c.packed[i/lanes*lanes*d:]
		for j, x := range c.query.Row(0, 0, i) {
			panel[j*lanes+i%lanes] = x
		}
	}
	return nil
}

// fit makes room.
func (c *call) fit(w *scratch) {
	parallel.Fit(&w.memory, &w.usage, &w.numbers, c.numbers(), parallel.Make[float32])
	largest, products := c.panels()*c.tile.Lanes, c.rows()*c.tile.Lanes
	w.largest, w.products, w.wide = w.numbers[:largest], w.numbers[largest:][:products], w.numbers[largest+products:]
}

// passagesOf computes the scores lo to hi-1.
func (c *call) passagesOf(w *scratch, lo, hi int) {
	for i := lo; i < hi; i++ {
		for j := range w.largest {
			w.largest[j] = float32(math.Inf(-1))
		}
		n := c.passages.Length(i)
		for at := 0; at < n; at += c.rows() {
			c.products(w, i, at, min(c.rows(), n-at))
		}
		sum := 0.0
		for _, x := range w.largest[:c.query.Dim(2)] {
			sum += float64(x)
		}
		c.scores[i] = float32(sum)
		if sum != sum {
			c.scores[i] = math.Float32frombits(0x7fc00000)
		}
	}
}

// products updates the largest products with n vectors of passage i, from one on.
func (c *call) products(w *scratch, i, at, n int) {
	lanes, d := c.tile.Lanes, c.query.Dim(3)
	var vectors []float32
	stride := d
	if c.passages.DType() == view.Float32 {
		vectors, stride = c.passages.Rows(i, 0, at, n), c.passages.Stride(2)
	} else {
		vectors = w.wide[:n*d]
		rows.Widen(c.tier, vectors, &c.passages, i, 0, at, n)
	}
	for p := range c.panels() {
		c.tile.GemmMax(w.products, lanes, vectors, stride, 1, c.packed[p*lanes*d:][:lanes*d], lanes, n, d, ukernel.ColumnSegment, w.largest[p*lanes:][:lanes])
	}
}
