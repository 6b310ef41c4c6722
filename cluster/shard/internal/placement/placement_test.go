package placement

import (
	"fmt"
	"slices"
	"testing"
)

// The fewest blocks move, to even shares.
func TestEven(t *testing.T) {
	var blocks [][]string
	for i := range 40 {
		blocks = append(blocks, []string{"a", "b", "c"}[i%3:i%3+1])
	}
	moves := Even(blocks, []string{"a", "b", "c", "d"}, "s", 1)
	if len(moves) != 10 {
		t.Errorf("%d moves", len(moves))
	}
	for _, m := range moves {
		if m.To != "d" || blocks[m.Block][0] != m.From {
			t.Errorf("%+v", m)
		}
	}
	if moves := Even(blocks[:3], []string{"a", "b", "c", "d"}, "s", 1); len(moves) != 0 {
		t.Errorf("%d moves of one block each", len(moves))
	}
}

// placed returns the holders of n blocks that are placed one after the other.
func placed(workers []string, n, run, replicas int) [][]string {
	load := map[string]int{}
	var holders [][]string
	for block := range n {
		h := Place(workers, load, "s", block, run, replicas)
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

// The blocks of a run lie on the same workers, and no worker has more than its share of the runs.
func TestRuns(t *testing.T) {
	for _, workers := range []int{1, 2, 3, 5} {
		for _, replicas := range []int{1, 2} {
			for _, run := range []int{1, 4, 64} {
				const runs = 13
				holders := placed(names(workers), runs*run, run, replicas)
				load := map[string]int{}
				for i, h := range holders {
					if want := min(workers, replicas); len(h) != want {
						t.Fatalf("block %d is on %v, want %d workers", i, h, want)
					}
					if i%run > 0 && !slices.Equal(h, holders[i-1]) {
						t.Fatalf("%d workers, %d replicas: block %d of runs of %d is on %v, the one before on %v", workers, replicas, i, run, h, holders[i-1])
					}
					for _, w := range h {
						load[w]++
					}
				}
				for w, n := range load {
					if share := (runs*replicas + workers - 1) / workers * run; n > share {
						t.Errorf("%d workers, runs of %d: %s has %d blocks, its share is %d", workers, run, w, n, share)
					}
				}
			}
		}
	}
}

// Links cover all blocks in order, each by a holder of all of its blocks, and share the work.
func TestLinks(t *testing.T) {
	for _, workers := range []int{1, 2, 3, 5} {
		for _, replicas := range []int{1, 2, 3} {
			const run, n = 16, 16*30 + 5
			all := names(workers)
			holders := placed(all, n, run, replicas)
			load := map[string]int{}
			links := Links(holders, 0, run, all, load)
			next, own := 0, map[string]int{}
			for _, l := range links {
				if l.First != next || l.Count < 1 {
					t.Fatalf("%+v begins at %d, want %d", l, l.First, next)
				}
				for _, h := range holders[l.First : l.First+l.Count] {
					if !slices.Contains(h, l.Worker) {
						t.Fatalf("%+v has a block of %v", l, h)
					}
				}
				next += l.Count
				own[l.Worker] += l.Count
			}
			if next != n || len(links) > n/run+1+workers {
				t.Errorf("%d workers, %d replicas: %d links over %d blocks", workers, replicas, len(links), next)
			}
			for w, n := range own {
				if share := (len(holders)+workers-1)/workers + 2*run; n > share || load[w] != n {
					t.Errorf("%d workers, %d replicas: %s does %d blocks (load %d), its share is %d", workers, replicas, w, n, load[w], share)
				}
			}
		}
	}
	if links := Links([][]string{{"a"}, {"b"}}, 0, 1, []string{"a"}, map[string]int{}); links != nil {
		t.Errorf("%+v without a holder of block 1", links)
	}
	if links := Links(nil, 0, 1, []string{"a"}, map[string]int{}); links != nil {
		t.Errorf("%+v of no blocks", links)
	}
}
