package embed

import (
	"errors"
	"fmt"
	"time"

	"github.com/attn-go/attn/kernel"
)

// The kinds of a [kernel.Error] about jobs. Where names the record, counted from the first text of the corpus.
var (
	ErrRefused    = errors.New("embed: a worker does not do such jobs")               // Got is its reason
	ErrDifference = errors.New("embed: a worker computes wrong numbers")              // of two results of one job, whose bits differ
	ErrModels     = errors.New("embed: workers have no model that a client can take") // Got has the digests that they have
)

func recordError(position int64, got, want string, kind error) error {
	return &kernel.Error{Where: fmt.Sprint("embed: record ", position), Got: got, Want: want, Kind: kind}
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
