// Package placement chooses the workers that hold the blocks of a sequence. Nothing in it depends
// on anything but its arguments.
package placement

import (
	"cmp"
	"hash/fnv"
	"slices"
)

// rank orders the names of workers for a block: by rendezvous hashing (Thaler, Ravishankar:
// "Using name-based mappings to increase hit rates", 1998), so that the order of two workers
// does not depend on which others there are.
func rank(workers []string, sequence string, block int) []string {
	ranked := slices.Clone(workers)
	score := map[string]uint64{}
	for _, w := range workers {
		score[w] = rendezvous(w, sequence, block)
	}
	slices.SortFunc(ranked, func(a, b string) int {
		return cmp.Or(cmp.Compare(score[b], score[a]), cmp.Compare(a, b))
	})
	return ranked
}

// rendezvous returns the score of a worker for a block: FNV-1a, mixed as by SplitMix64.
func rendezvous(worker, sequence string, block int) uint64 {
	h := fnv.New64a()
	h.Write([]byte(worker))
	h.Write([]byte{0})
	h.Write([]byte(sequence))
	x := h.Sum64() ^ uint64(block)*0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Place chooses up to replicas workers for a block, best first: in the order of rank, but
// first those that hold no more than their share of the sequence's blocks. Of n blocks in all and w
// workers that share is ⌈n·replicas/w⌉, so no worker has much
// more to do than another. load counts the blocks of the sequence that each worker holds.
func Place(workers []string, load map[string]int, sequence string, block, replicas int) []string {
	if len(workers) == 0 {
		return nil
	}
	ranked := rank(workers, sequence, block)
	share := ((block+1)*replicas + len(workers) - 1) / len(workers)
	slices.SortStableFunc(ranked, func(a, b string) int {
		return cmp.Compare(over(load[a], share), over(load[b], share))
	})
	return ranked[:min(replicas, len(ranked))]
}

// over returns 1 if a worker with so many blocks has no room for another in its share.
func over(load, share int) int {
	if load >= share {
		return 1
	}
	return 0
}
