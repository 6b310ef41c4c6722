package bert

import (
	"cmp"
	"slices"
)

// batches returns the indices of texts that are computed together: longest texts first, of
// similar length, with at most tokens tokens unless a text alone has more.
func batches(ids [][]int32, tokens int) [][]int {
	order := make([]int, len(ids))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(len(ids[b]), len(ids[a])) })
	var list [][]int
	for begin := 0; begin < len(order); {
		end, sum := begin, 0
		for end < len(order) && (end == begin || sum+len(ids[order[end]]) <= tokens) {
			sum += len(ids[order[end]])
			end++
		}
		list, begin = append(list, order[begin:end]), end
	}
	return list
}
