package shard

import (
	"slices"
)

// lostBlocks collects blocks for a [*BlocksError].
type lostBlocks struct {
	names  []string
	blocks map[string][]int
}

func (l *lostBlocks) add(name string, block int) {
	if l.blocks == nil {
		l.blocks = map[string][]int{}
	}
	if _, known := l.blocks[name]; !known {
		l.names = append(l.names, name)
	}
	l.blocks[name] = append(l.blocks[name], block)
}

// err returns the error, or nil if there are no blocks. Causes of the same text count once.
func (l *lostBlocks) err(causes []error) error {
	if len(l.names) == 0 {
		return nil
	}
	e := &BlocksError{}
	for _, name := range l.names {
		numbers := l.blocks[name]
		slices.Sort(numbers)
		e.Blocks = append(e.Blocks, Blocks{name, slices.Compact(numbers)})
	}
	known := map[string]bool{}
	for _, err := range causes {
		if text := err.Error(); !known[text] {
			known[text] = true
			e.Causes = append(e.Causes, err)
		}
	}
	return e
}
