package relay

import (
	"errors"
	"fmt"
)

// A FingerprintError reports a worker whose answers are not those of others in the cluster.
type FingerprintError struct {
	Peer string // a gateway or worker that is there
	Got  string // fingerprint of this worker
	Want string // that of the peer
}

// Error names both fingerprints.
func (e *FingerprintError) Error() string {
	return fmt.Sprintf("relay: the fingerprint of this worker is %s, want %s, that of %s: with the same models, files and settings that change answers", e.Got, e.Want, e.Peer)
}

// ErrDiffers reports that two workers of a fingerprint have answered a request with other bytes.
var ErrDiffers = errors.New("relay: two workers have answered with other bytes")

// Ends of an attempt after which another worker is asked.
var (
	errLost   = errors.New("the worker is lost")
	errGap    = errors.New("a part of the answer is lost")
	errGaveUp = errors.New("the worker has given up")
	errBusy   = errors.New("the worker takes no more")

	errElsewhere = errors.New("the worker of this conversation does not take it")
)
