package contracttest

import (
	"slices"

	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
)

// What the model says of calls with lists of keys, Options.KeyRows, and of those whose queries are
// a tree, Options.Parents.

func (m *Model) isListed() bool { return m.o.KeyRows.Rows != nil || m.o.KeyRows.Shape != [4]int{} }

// count returns the number of keys of a call, or of a list at most.
func (m *Model) count() int {
	if m.isListed() {
		return m.o.KeyRows.Shape[3]
	}
	return m.k.Shape()[2]
}

// blocksFrom returns the position that the first key has where keys are cut into blocks.
func (m *Model) blocksFrom(b int) int {
	if m.isListed() {
		return 0
	}
	return perBatch(m.o.KeyStart, b)
}

// rowOf returns the row of k that is key j of a query.
func (m *Model) rowOf(b, h, i, j int) int {
	if m.isListed() {
		return int(m.list(b, h, i)[j])
	}
	if past := m.past(b); m.o.Parents != nil && j >= past {
		return past + m.path(b, i)[j-past]
	}
	return j
}

// past returns the number of keys before a tree.
func (m *Model) past(b int) int { return perBatch(m.o.QueryStart, b) - perBatch(m.o.KeyStart, b) }

// A path has the queries on the path of query i, the first one first.
type path struct {
	b, i    int
	queries []int
}

// path returns the path of query i. The model keeps the last one: each pair of a query and a key
// asks for it.
func (m *Model) path(b, i int) []int {
	last := &m.lastPath
	if last.queries != nil && last.b == b && last.i == i {
		return last.queries
	}
	*last = path{b: b, i: i}
	tree := m.o.Parents
	if n := m.q.Shape()[2]; len(tree) > n {
		tree = tree[b*n:]
	}
	for ; i >= 0; i = int(tree[i]) {
		last.queries = append(last.queries, i)
	}
	slices.Reverse(last.queries)
	return last.queries
}

// before returns how many positions a query is after the first one.
func (m *Model) before(b, i int) int {
	if m.o.Parents != nil {
		return len(m.path(b, i)) - 1
	}
	return i
}

// list returns the list of a query, with what follows its end.
func (m *Model) list(b, h, i int) []int32 {
	shape := m.o.KeyRows.Shape
	at := 0
	for x, index := range [...]int{b, h / m.group, i} {
		if at *= shape[x]; shape[x] > 1 {
			at += index
		}
	}
	return m.o.KeyRows.Rows[at*shape[3]:][:shape[3]]
}

// listed returns the number of entries of a list.
func (m *Model) listed(b, h, i int) (n int) {
	for list := m.list(b, h, i); n < len(list) && list[n] >= 0; n++ {
	}
	return n
}

// SeesRow tells whether a query sees a row of k.
func (m *Model) SeesRow(b, h, i, row int) bool {
	if !m.isListed() && m.o.Parents == nil {
		return m.Sees(b, h, i, row)
	}
	for j := range m.length(b, h, i) {
		if m.rowOf(b, h, i, j) == row && m.Sees(b, h, i, j) {
			return true
		}
	}
	return false
}

// Gathered returns copies of rows of head h of batch row b, with their scales: [1, 1, rows, D].
func Gathered(t *kernel.Tensor, b, h int, rows []int32) kernel.Tensor {
	d := t.Shape()[3]
	to := As(kernel.BHLD(testutil.Filled(len(rows)*d, Canary), 1, 1, len(rows), d), t.DType())
	if s := View(t).Scales(); s != nil {
		scales := kernel.BHLD(testutil.Filled(len(rows)*s.Dim(3), testutil.NaN), 1, 1, len(rows), s.Dim(3))
		to = to.Scaled(&scales)
	}
	for i, row := range rows {
		CopyRow(&to, 0, 0, i, t, b, h, int(row))
	}
	return to
}

// Unpaged returns a copy of the rows of a paged tensor, with their scales: [B, H, L, D]. Those from
// the end of a batch row on are copies of its last one.
func Unpaged(t *kernel.Tensor) kernel.Tensor {
	shape := t.Shape()
	n := shape[0] * shape[1] * shape[2]
	to := As(kernel.BHLD(testutil.Filled(n*shape[3], Canary), shape[0], shape[1], shape[2], shape[3]), t.DType())
	if s := View(t).Scales(); s != nil {
		scales := kernel.BHLD(testutil.Filled(n*s.Dim(3), testutil.NaN), shape[0], shape[1], shape[2], s.Dim(3))
		to = to.Scaled(&scales)
	}
	for b := range shape[0] {
		for h := range shape[1] {
			for l := range shape[2] {
				page, row := View(t).Locate(b, min(l, View(t).Length(b)-1))
				CopyRow(&to, b, h, l, t, page, h, row)
			}
		}
	}
	return to
}
