package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/attn-go/attn/bench/internal/problem"
	"github.com/attn-go/attn/bench/internal/suite"
	"github.com/attn-go/attn/bench/internal/table"
)

// resolveShapes finds the shapes of attention or, if suites are named, of these.
func (c *config) resolveShapes(list string, set bool) (err error) {
	if slices.Contains(c.suites, true) {
		if set {
			c.suiteShapes, err = c.parseSuiteShapes(list)
		}
		return err
	}
	if !set && c.activations != "" {
		list, set = problem.Real, true
	}
	c.Shapes, err = parseShapes(list, !set)
	return err
}

// parseSuiteShapes checks that each shape of the list is one of a suite that was named, and that
// each of these suites has one of them.
func (c *config) parseSuiteShapes(list string) ([]string, error) {
	shapes := strings.Split(list, ",")
	var all []string
	used := map[string]bool{}
	for i, s := range suite.All {
		if !c.suites[i] {
			continue
		}
		names, found := s.Shapes(), false
		for _, shape := range shapes {
			if isShape(names, shape) {
				used[shape], found = true, true
			}
		}
		if !found {
			return nil, fmt.Errorf("-shapes: none of %s is a shape of -%s, want some of %s", list, s.Name, strings.Join(names, ", "))
		}
		all = append(all, names...)
	}
	for _, shape := range shapes {
		if !used[shape] {
			return nil, fmt.Errorf("-shapes: unknown shape %q, want some of %s", shape, strings.Join(all, ", "))
		}
	}
	return shapes, nil
}

// isShape says whether a word is one of the names, or an alias in brackets behind a name.
func isShape(names []string, word string) bool {
	return word != "" && slices.ContainsFunc(names, func(name string) bool {
		name, alias, _ := strings.Cut(strings.TrimSuffix(name, ")"), " (")
		return strings.EqualFold(name, word) || strings.EqualFold(alias, word)
	})
}

// suiteShapes lists the shapes of suites for the usage.
func suiteShapes() string {
	text := "; with"
	for _, s := range suite.All {
		if s.Shapes != nil {
			text += "\n-" + s.Name + ": " + table.Wrap(s.Shapes(), 68, "  ")
		}
	}
	return text
}

// parseShapes finds shapes by name or alias, in the order of the list, or returns all.
func parseShapes(list string, all bool) (found []*problem.Shape, err error) {
	if list == "none" {
		return nil, nil
	}
	for i := range problem.Shapes {
		if all {
			found = append(found, &problem.Shapes[i])
		}
	}
	if all {
		return found, nil
	}
	for name := range strings.SplitSeq(list, ",") {
		i := slices.IndexFunc(problem.Shapes, func(s problem.Shape) bool {
			return name != "" && (strings.EqualFold(s.Name, name) || strings.EqualFold(s.Alias, name))
		})
		if i < 0 {
			return nil, fmt.Errorf("-shapes: unknown shape %q, want some of %s, or none", name, strings.Join(problem.ShapeNames(), ", "))
		}
		if s := &problem.Shapes[i]; !slices.Contains(found, s) {
			found = append(found, s)
		}
	}
	return found, nil
}
