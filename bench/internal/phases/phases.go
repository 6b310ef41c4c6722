// Package phases splits the time of short calls of attention into their phases, by a profile of
// the program as it is: no clock is read within a call.
package phases

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"runtime/pprof"
	"time"

	"github.com/google/pprof/profile"
)

// A Phase is a part of a call. A sample of the profile belongs to the phase of the innermost
// function that is listed with any phase. Tiles is what a task does beside the phases around it.
type Phase struct {
	Name      string
	functions *regexp.Regexp
}

// Phases are the parts of a call in their order. The matrix products of tiles are one function in
// assembly, so their callers tell scores and values apart. What belongs to none, like the garbage
// collector, is Other.
var Phases = []Phase{
	{"validation", regexp.MustCompile(`/kernel\.(selectTier|newCall|\(\*call\)\.(check|isEmpty)|check)|/internal/(check|view)\.\(?\*?\w*\)?\.?Check|/tier\.(Handle\.Tier|Default)`)},
	{"plan", regexp.MustCompile(`/kernel\.\(\*call\)\.resolve|/engine\.(New$|\(\*(Job|plan|ring)\)\.(make|prepare|derive|Release|find\w+|choose\w+|shapeOf|strategies|isPlain|fitAll)$)|/engine/tasks\.|/parallel\.LimitFor`)},
	{"pack", regexp.MustCompile(`/asm\.pack|/engine\.(\(\*tile\)\.)?pack`)},
	{"scores", regexp.MustCompile(`/asm\.(skinnyQK|keyProduct|headScores|maskSpan)|/engine\.(\w*[sS]cores|(\(\*scratch\)\.plainBatch|\(\*tile\)\.(score\w*|modify|addBias|alibi|softcap|maskBool|callScore)))$`)},
	{"softmax", regexp.MustCompile(`/asm\.(softmax|skinnySoftmax|mergeStats)|/engine\.(\w*Softmax|\(\*tile\)\.(softmax\w*|exponentiate|Drop|raise))$`)},
	{"values", regexp.MustCompile(`/asm\.(skinny(PV|Merge|HeadValues)|valueProduct)|/engine\.(\w*Values|\w*(Merge|MergeNone)|\(\*tile\)\.(addValues|merge\w*))$`)},
	{"unpack", regexp.MustCompile(`/asm\.(unpack|skinnyUnpack)|/engine\.(\w+Unpack|\(\*(tile|Job)\)\.(unpack|finish)\w*)$`)},
	{"tiles", regexp.MustCompile(`/engine\.\(\*(tile|mixedTile|Job|scratch)\)\.(task|splitTask|computeBlock|enterBlock|prepare|begin|end|reset|fit\w*|place\w*|plainTiles|mixedTiles|wholeTiles)$`)},
	{"threads", regexp.MustCompile(`/parallel\.`)},
}

// Other is the name of what belongs to no phase.
const Other = "other"

// Names returns the names of all phases, Other last.
func Names() (names []string) {
	for _, p := range Phases {
		names = append(names, p.Name)
	}
	return append(names, Other)
}

// Split makes calls for a time and returns the CPU time of a call, on average, and the shares of its
// phases by their names. CPU time does not count what other programs take of the machine.
func Split(ctx context.Context, call func() error, limit time.Duration) (ns float64, shares map[string]float64, err error) {
	var b bytes.Buffer
	if err := call(); err != nil {
		return 0, nil, err
	}
	if err := pprof.StartCPUProfile(&b); err != nil {
		return 0, nil, err
	}
	n, start := 0, time.Now()
	for err == nil && ctx.Err() == nil && time.Since(start) < limit {
		for i := 0; err == nil && i < 1000; i++ {
			err = call()
			n++
		}
	}
	pprof.StopCPUProfile()
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return 0, nil, err
	}
	p, err := profile.Parse(&b)
	if err != nil {
		return 0, nil, err
	}
	all, shares, err := split(p)
	return all / float64(n), shares, err
}

// split returns the CPU time of a profile in nanoseconds, and the shares of the phases.
func split(p *profile.Profile) (all float64, shares map[string]float64, err error) {
	shares = map[string]float64{}
	for _, s := range p.Sample {
		x := float64(s.Value[1])
		shares[phaseOf(s)] += x
		all += x
	}
	if all == 0 {
		return 0, nil, fmt.Errorf("the profile has no samples: measure for longer")
	}
	for name := range shares {
		shares[name] /= all
	}
	return all, shares, nil
}

// phaseOf returns the name of the phase of a sample.
func phaseOf(s *profile.Sample) string {
	for _, l := range s.Location { // the innermost first
		for _, line := range l.Line {
			for _, p := range Phases {
				if p.functions.MatchString(line.Function.Name) {
					return p.Name
				}
			}
		}
	}
	return Other
}
