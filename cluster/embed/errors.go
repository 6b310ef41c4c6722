package embed

import (
	"fmt"
	"time"
)

// A RefusedError reports a worker that does not do the client's jobs.
type RefusedError struct {
	Position int64  // of the job's first text
	Reason   string // the worker's
}

// Error names the job and the worker's reason.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("embed: a worker refused the job from record %d: %s", e.Position, e.Reason)
}

// A DifferenceError reports two results of one job that differ, so that one of the workers
// computes wrong numbers.
type DifferenceError struct {
	Position int64 // of the text
}

// Error names the text.
func (e *DifferenceError) Error() string {
	return fmt.Sprintf("embed: two workers gave record %d vectors of different bits", e.Position)
}

// A StalledError reports a run that made no progress for too long. It can be resumed.
type StalledError struct {
	For         time.Duration
	Outstanding int    // jobs without a result
	Last        error  // of the last try to send or to receive, or nil: then no worker answered
	Queues      string // what the queues hold, and whose it is, as far as the server answers
}

// Error says for how long, and why as far as that is known.
func (e *StalledError) Error() string {
	why := "no worker answered"
	if e.Last != nil {
		why = e.Last.Error()
	}
	if e.Queues != "" {
		why += "; " + e.Queues
	}
	return fmt.Sprintf("embed: no result for %v, %d jobs are under way: %s", e.For.Round(time.Millisecond), e.Outstanding, why)
}

// Unwrap returns Last.
func (e *StalledError) Unwrap() error { return e.Last }
