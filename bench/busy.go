package main

import (
	"context"
	"fmt"
	"time"

	"github.com/attn-go/attn/bench/internal/machine"
)

// busyTime is how long the load is watched before anything is measured.
const busyTime = 200 * time.Millisecond

// busyNow says what else the CPUs are busy with during the next moments, "" if that is little.
func busyNow(ctx context.Context, d time.Duration) string {
	before := machine.ReadCPUTimes()
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
	now := machine.ReadCPUTimes()
	return busyNote(before.OthersPercent(now), before.StealPercent(now))
}

// mostBusy is the share of the CPU time from which others make a run longer.
const mostBusy = 10

// busyNote says what takes the CPU time, given two percentages that may be unknown.
func busyNote(others, steal *float64) string {
	const then = "the run takes longer, and what is disturbed will be marked"
	switch {
	case others != nil && *others >= mostBusy:
		return fmt.Sprintf("other programs take %.0f%% of the CPU time now: %s", *others, then)
	case steal != nil && *steal >= mostBusy:
		return fmt.Sprintf("other virtual machines take %.0f%% of the CPU time now: %s", *steal, then)
	}
	return ""
}
