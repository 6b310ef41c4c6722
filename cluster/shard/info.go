package shard

import (
	"cmp"
	"maps"
	"slices"

	"github.com/attn-go/attn/cluster/shard/internal/wire"
)

// describe returns what an entry says.
func describe(name string, e *wire.Entry) Info {
	g := &e.Geometry
	i := Info{Name: name, Keys: e.Length, Config: Config{Heads: g.Heads, HeadSize: g.KeySize, ValueSize: g.ValueSize, Type: g.Type, Group: g.Group, Replicas: e.Replicas}}
	load := map[string]int{}
	for n, block := range e.Blocks {
		if n == 0 || len(block) < i.Copies {
			i.Copies = len(block)
		}
		for _, w := range block {
			load[w]++
		}
	}
	i.Workers = slices.SortedFunc(maps.Keys(load), func(a, b string) int {
		return cmp.Or(cmp.Compare(load[b], load[a]), cmp.Compare(a, b))
	})
	return i
}

func sortedByName(all []Info) []Info {
	slices.SortFunc(all, func(a, b Info) int { return cmp.Compare(a.Name, b.Name) })
	return all
}
