package placement

import "slices"

// Link is consecutive blocks that one worker is asked for: those from number First on, counted from the first block of all.
type Link struct {
	Worker       string
	First, Count int
}

// Links cuts blocks into links, each of which one of the holders of all of its blocks does. A worker goes on
// from run to run until it has its share of the blocks, half a run more or less. load counts what each
// worker has to do, with what is chosen here. Links returns nil if none of the workers holds a
// block. holders[i] are those of block first+i.
func Links(holders [][]string, first, run int, workers []string, load map[string]int) []Link {
	var able []string
	for _, h := range holders {
		for _, w := range h {
			if slices.Contains(workers, w) && !slices.Contains(able, w) {
				able = append(able, w)
			}
		}
	}
	share := (len(holders) + len(able) - 1) / max(len(able), 1)
	own := map[string]int{}
	var links []Link
	last := ""
	for i, h := range holders {
		w := last
		if !slices.Contains(h, last) || (first+i)%run == 0 && own[last]+run/2 > share {
			w = leastOf(h, able, own, load)
		}
		switch w {
		case "":
			return nil
		case last:
			links[len(links)-1].Count++
		default:
			links = append(links, Link{w, i, 1})
		}
		own[w]++
		last = w
	}
	for w, n := range own {
		load[w] += n
	}
	return links
}

// leastOf returns the one of the holders of a block that has the least to do of these blocks, and then in all,
// or "".
func leastOf(holders, able []string, own, load map[string]int) string {
	best := ""
	for _, w := range holders {
		if slices.Contains(able, w) && (best == "" || own[w] < own[best] || own[w] == own[best] && load[w] < load[best]) {
			best = w
		}
	}
	return best
}
