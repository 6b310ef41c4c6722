package placement

import (
	"fmt"
	"testing"
)

// placed returns the holders of n blocks that are placed one after the other.
func placed(workers []string, n, replicas int) [][]string {
	load := map[string]int{}
	var holders [][]string
	for block := range n {
		h := Place(workers, load, "s", block, replicas)
		for _, w := range h {
			load[w]++
		}
		holders = append(holders, h)
	}
	return holders
}

// names returns n names of workers.
func names(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprint("w", i))
	}
	return all
}

// A block has as many workers as it should, and none of them has more than its share of the blocks.
func TestPlace(t *testing.T) {
	for _, workers := range []int{1, 2, 3, 5} {
		for _, replicas := range []int{1, 2} {
			const blocks = 13
			load := map[string]int{}
			for i, h := range placed(names(workers), blocks, replicas) {
				if want := min(workers, replicas); len(h) != want {
					t.Fatalf("block %d is on %v, want %d workers", i, h, want)
				}
				for _, w := range h {
					load[w]++
				}
			}
			for w, n := range load {
				if share := (blocks*replicas + workers - 1) / workers; n > share {
					t.Errorf("%d workers: %s has %d blocks, its share is %d", workers, w, n, share)
				}
			}
		}
	}
}
