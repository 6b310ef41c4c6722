// Package compare compares the speed of two versions of the code, from results files of both.
package compare

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"github.com/attn-go/attn/bench/internal/results"
	"golang.org/x/perf/benchmath"
)

// LeastRuns is how many runs each version needs, so that a difference can be told from chance
// at the level of benchmath.DefaultThresholds.
const LeastRuns = 4

// confidence is the confidence of the interval of a ratio.
const confidence = 0.95

// A Row compares one figure.
type Row struct {
	Name     string
	Old, New float64 // median times in nanoseconds
	Ratio    float64 // New by Old; more than 1 is slower
	Low      float64 // the ratio lies between Low and High at 95% confidence; 0 if there are
	High     float64 // less than 6 runs, or not as many of both versions
	P        float64 // probability of such a difference by chance alone
	Runs     [2]int
	Certain  bool // the difference is hardly chance: P is small, and 1 is not between Low and High
	Slower   bool // by more than the threshold, and not known to be chance
	Faster   bool // the same in the other direction: the old version is slower by more than the threshold
}

// FewRuns says whether there are too few runs to tell a difference from chance.
func (r *Row) FewRuns() bool { return min(r.Runs[0], r.Runs[1]) < LeastRuns }

// A Comparison has the rows in the order of the files.
type Comparison struct {
	Rows      []Row
	Slower    int // how many rows are
	Faster    int
	Files     int
	Agreement results.Agreement // of the bits of all files
	OtherCPU  bool              // the files are of different CPUs
	Disturbed []string          // what has disturbed the measurements of a file
}

// ErrNothing says that the versions have no figure in common.
var ErrNothing = errors.New("the files have no figure in common")

// Files compares the runs of two versions. With a threshold of 5, what takes more than 1.05 times
// as long is slower: if the difference is certain, or if there are too few runs to know. What the
// old version takes more than 1.05 times as long for is faster, by the same rule.
func Files(old, new []*results.File, thresholdPercent float64) (*Comparison, error) {
	before, names := samples(old)
	after, _ := samples(new)
	all := slices.Concat(old, new)
	c := &Comparison{Files: len(all), Agreement: results.Agree(all)}
	for _, f := range all {
		for _, reason := range f.Disturbed() {
			c.Disturbed = append(c.Disturbed, fmt.Sprintf("%s: %s", filepath.Base(f.Path), reason))
		}
		c.OtherCPU = c.OtherCPU || f.Machine.CPU != all[0].Machine.CPU || f.Machine.Model != all[0].Machine.Model
	}
	for _, name := range names {
		if len(after[name]) > 0 {
			r := row(name, before[name], after[name], thresholdPercent)
			c.Rows = append(c.Rows, r)
			if r.Slower {
				c.Slower++
			}
			if r.Faster {
				c.Faster++
			}
		}
	}
	if len(c.Rows) == 0 {
		return nil, ErrNothing
	}
	return c, nil
}

func row(name string, old, new []float64, thresholdPercent float64) Row {
	a, b := sample(old), sample(new)
	r := Row{Name: name, Runs: [2]int{len(old), len(new)}}
	r.Old, r.New = benchmath.AssumeNothing.Summary(a, confidence).Center, benchmath.AssumeNothing.Summary(b, confidence).Center
	r.Ratio = r.New / r.Old
	if len(old) == len(new) { // run i of one version was right before or after run i of the other
		var ratios []float64
		for i := range old {
			ratios = append(ratios, new[i]/old[i])
		}
		s := benchmath.AssumeNothing.Summary(sample(ratios), confidence)
		r.Ratio = s.Center
		if !math.IsInf(s.Lo, 0) && !math.IsInf(s.Hi, 0) {
			r.Low, r.High = s.Lo, s.Hi
		}
	}
	test := benchmath.AssumeNothing.Compare(a, b)
	r.P = test.P
	r.Certain = !r.FewRuns() && test.P < test.Alpha && !(r.Low < 1 && r.High > 1)
	if most := 1 + thresholdPercent/100; r.Certain || r.FewRuns() {
		r.Slower, r.Faster = r.Ratio > most, r.Ratio*most < 1
	}
	return r
}

// sample leaves the values as they are: benchmath sorts what it gets.
func sample(values []float64) *benchmath.Sample {
	return benchmath.NewSample(slices.Clone(values), &benchmath.DefaultThresholds)
}

// samples collects the times of each figure of all files, and the names in their order.
func samples(files []*results.File) (values map[string][]float64, names []string) {
	values = map[string][]float64{}
	for _, f := range files {
		for _, t := range f.Times() {
			name, runs := t.Name, t.Runs
			if values[name] == nil {
				names = append(names, name)
			}
			if len(runs) == 0 {
				runs = []float64{t.Ns}
			}
			values[name] = append(values[name], runs...)
		}
	}
	return values, names
}
