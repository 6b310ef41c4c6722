package rope

import (
	"fmt"

	"github.com/attn-go/attn/internal/check"
)

// checkSections reports Sections that are no partition of the pairs.
func (c *Config) checkSections() *check.Failure {
	n := len(c.Sections)
	wrong := func(got, want string, args ...any) *check.Failure {
		return &check.Failure{Where: "Config.Sections", Got: got, Want: fmt.Sprintf(want, args...)}
	}
	if c.Sections == nil && c.InterleavedSections {
		return &check.Failure{Where: "Config.InterleavedSections", Got: "true without Sections", Want: "false, or Sections"}
	}
	if c.Sections != nil && (n < 1 || n > maxSections) {
		return wrong(fmt.Sprintf("%d sections", n), "1 to %d, or nil", maxSections)
	}
	left := c.Dims / 2
	for i, pairs := range c.Sections {
		// The last pair of section i is i + n·(pairs-1), if they are dealt out.
		if c.InterleavedSections && i > 0 && pairs > (c.Dims/2-i+n-1)/n {
			return wrong(fmt.Sprint(c.Sections), "at most %d pairs in section %d, every %d-th from %d on", max(0, (c.Dims/2-i+n-1)/n), i, n, i)
		}
		if pairs < 0 || pairs > left {
			left = -1
			break
		}
		left -= pairs
	}
	if c.Sections != nil && left != 0 {
		return wrong(fmt.Sprint(c.Sections), "numbers from 0 on whose sum is %d, the pairs", c.Dims/2)
	}
	return nil
}

// sections returns the section of each pair, or nil if all are in the first one.
func (c *Config) sections() []uint8 {
	if len(c.Sections) < 2 {
		return nil
	}
	of := make([]uint8, c.Dims/2)
	first := 0
	for i, pairs := range c.Sections {
		at, step := first, 1
		if c.InterleavedSections {
			at, step = i, len(c.Sections)
		}
		first += pairs
		if i == 0 {
			continue // the first one has the pairs that no other one has
		}
		for range pairs {
			of[at] = uint8(i)
			at += step
		}
	}
	return of
}

// mixed writes the cosines and sines of a token to row: those of its position in section i, which is
// positions[i·each], for the pairs of that section.
func (r *Rope) mixed(positions []int, each int, row []float32) []float32 {
	cos, sin := row[:len(row)/2], row[len(row)/2:]
	var known [maxSections][]float32 // the rows in the table
	for i := range r.streams {
		known[i] = r.fromTable(positions[i*each])
	}
	for i, section := range r.sections {
		if row := known[section]; row != nil {
			cos[i], sin[i] = row[i], row[len(cos)+i]
		} else {
			cos[i], sin[i] = r.pair(i, positions[int(section)*each])
		}
	}
	return row
}
