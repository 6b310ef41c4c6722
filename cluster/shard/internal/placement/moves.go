package placement

import (
	"cmp"
	"slices"
)

// Move is a block that goes from one worker to another.
type Move struct {
	Block    int
	From, To string
}

// Even returns the fewest moves after which each of the workers holds its share of
// blocks, rounded up or down. A worker takes those blocks for which it ranks highest.
func Even(blocks [][]string, workers []string, sequence string) []Move {
	holders := make([][]string, len(blocks))
	load := map[string]int{}
	for i, b := range blocks {
		holders[i] = slices.Clone(b)
		for _, w := range b {
			if slices.Contains(workers, w) {
				load[w]++
			}
		}
	}
	var moves []Move
	for len(workers) > 0 {
		least := slices.MinFunc(workers, func(a, b string) int { return cmp.Or(cmp.Compare(load[a], load[b]), cmp.Compare(a, b)) })
		most := slices.MaxFunc(workers, func(a, b string) int { return cmp.Or(cmp.Compare(load[a], load[b]), cmp.Compare(b, a)) })
		if load[most]-load[least] < 2 {
			break
		}
		best, score := -1, uint64(0) // there is one, as least holds fewer than most
		for i, h := range holders {
			if x := rendezvous(least, sequence, i); slices.Contains(h, most) && !slices.Contains(h, least) && (best < 0 || x > score) {
				best, score = i, x
			}
		}
		holders[best][slices.Index(holders[best], most)] = least
		load[most]--
		load[least]++
		moves = append(moves, Move{best, most, least})
	}
	return moves
}
