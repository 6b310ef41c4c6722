package suite

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime"
	"time"

	"github.com/attn-go/attn/bench/internal/calls"
	"github.com/attn-go/attn/bench/internal/results"
	"github.com/attn-go/attn/kernel"
)

// A cliffCase is a curve to measure: calls that differ in one number.
type cliffCase struct {
	kind, group, name string
	at                []float64                            // the numbers, rising
	call              func(at float64) (calls.Call, error) // makes a call
}

// cliffTime is how long a point is measured in each round over the whole curve.
const cliffTime = 60 * time.Microsecond

// cliffRows measure curves on one thread of each tier. All points of a curve take turns, so that a
// phase in which the machine is slow is no step, and the least time of each counts.
func cliffRows(c *Config, f *results.File) (rows []row) {
	if c.noVectors("cliffs", f) {
		return nil
	}
	for _, kind := range results.CurveKinds {
		if !c.takes(kind == results.OverRows, kind) {
			continue
		}
		for _, curve := range cliffCases[kind]() {
			curve.kind = kind
			for _, tier := range c.vectorTiers() {
				rows = append(rows, row{fmt.Sprintf("%s, %s, %s, %s", kind, curve.group, curve.name, tier), appended(&f.Curves, func(ctx context.Context) (results.Curve, error) {
					return c.curve(ctx, &curve, kernel.Exec{Tier: tier, Threads: 1})
				})})
			}
		}
	}
	return rows
}

// curve measures a curve.
func (c *Config) curve(ctx context.Context, x *cliffCase, e kernel.Exec) (r results.Curve, err error) {
	r = results.Curve{Kind: x.kind, Group: x.group, Case: x.name, Tier: e.Tier.String(), X: x.at}
	points := make([]calls.Call, len(x.at))
	for i, at := range x.at {
		if points[i], err = x.call(at); err != nil {
			return r, fmt.Errorf("%s at %g: %w", r.Name(), at, err)
		}
		r.Ns = append(r.Ns, math.Inf(1))
	}
	runtime.GC() // see measure
	d := cmp.Or(c.Time, cliffTime)
	for range c.rounds() + 2 {
		for i, call := range points {
			if ctx.Err() != nil {
				return r, ctx.Err()
			}
			ns, err := calls.Time(func() error { return call(e) }, d)
			if err != nil {
				return r, fmt.Errorf("%s at %g: %w", r.Name(), x.at[i], err)
			}
			r.Ns[i] = min(r.Ns[i], ns)
		}
	}
	return r, nil
}
