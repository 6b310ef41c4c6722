package embedding

import (
	"cmp"
	"iter"
	"slices"
)

// Batches yields the indices of texts that are computed together: longest texts first, of
// similar length, with at most tokens tokens unless a text alone has more.
func Batches(ids [][]int32, tokens int) iter.Seq[[]int] {
	order := make([]int, len(ids))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(len(ids[b]), len(ids[a])) })
	return func(yield func([]int) bool) {
		for begin := 0; begin < len(order); {
			end, sum := begin, 0
			for end < len(order) && (end == begin || sum+len(ids[order[end]]) <= tokens) {
				sum += len(ids[order[end]])
				end++
			}
			if !yield(order[begin:end]) {
				return
			}
			begin = end
		}
	}
}
