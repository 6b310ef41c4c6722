package embed

import (
	"errors"
	"fmt"
	"time"
)

// ErrModels is the kind of a [kernel.Error] about a model that no worker has, or about a choice of
// several. Got names the models of the workers.
var ErrModels = errors.New("embed: workers have no model that a client can take")

// errBusy reports that no worker takes a job now.
var errBusy = errors.New("embed: the workers take no more jobs now")

// A StalledError reports a run that made no progress for too long. It can be resumed.
type StalledError struct {
	For         time.Duration
	Outstanding int   // jobs without a result
	Last        error // of the last try, or nil
}

// Error says for how long, and why as far as that is known.
func (e *StalledError) Error() string {
	why := "no worker answered"
	if e.Last != nil {
		why = e.Last.Error()
	}
	return fmt.Sprintf("embed: no result for %v, %d jobs are under way: %s", e.For.Round(time.Millisecond), e.Outstanding, why)
}

// Unwrap returns Last.
func (e *StalledError) Unwrap() error { return e.Last }
