package suite

import (
	"slices"
	"strings"

	"github.com/attn-go/attn/bench/internal/problem"
)

// A choice is something to measure that -shapes can name.
type choice interface {
	shape() string // name
	isQuick() bool // whether a quick run measures it
}

// takes says whether something of this name, and perhaps of a short name, is measured: if -shapes
// names it or, if that names nothing, in a whole run and perhaps in a quick one.
func (c *Config) takes(quick bool, names ...string) bool {
	if c.Shapes == nil {
		return quick || !c.Quick
	}
	return slices.ContainsFunc(c.Shapes, func(s string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return name != "" && strings.EqualFold(s, name) })
	})
}

// chosen returns what is measured of a list.
func chosen[T choice](c *Config, list []T) (found []T) {
	for _, x := range list {
		if c.takes(x.isQuick(), x.shape()) {
			found = append(found, x)
		}
	}
	return found
}

// shapesOf returns the names of a list.
func shapesOf[T choice](list []T) (names []string) {
	for _, x := range list {
		names = append(names, x.shape())
	}
	return names
}

func optionShapeNames() (names []string) {
	for i := range optionShapes {
		names = append(names, optionShapes[i].Label())
	}
	return names
}

// The parts of the decoding suite behind those of single calls.
const (
	groupsShape  = "groups"
	queriesShape = "queries"
)

func decodeShapeNames() (names []string) {
	for _, l := range cacheLevels() {
		names = append(names, l.name)
	}
	return append(names, groupsShape, queriesShape)
}

// takesOptions says whether options are measured with a shape.
func (c *Config) takesOptions(s *problem.Shape) bool { return c.takes(s.Alias == "A", s.Name, s.Alias) }
