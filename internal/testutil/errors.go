package testutil

import "errors"

// AsType is errors.AsType, which Go 1.25 lacks.
func AsType[E error](err error) (as E, ok bool) {
	ok = errors.As(err, &as)
	return as, ok
}
