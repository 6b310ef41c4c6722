package relay

import "errors"

// ErrFingerprint is the kind of a kernel.Error about a worker whose answers differ from another's
// in the cluster. Where names the other, Got and Want have the fingerprints.
var ErrFingerprint = errors.New("relay: the worker has another fingerprint")

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
