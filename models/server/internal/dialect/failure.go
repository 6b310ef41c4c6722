package dialect

import "fmt"

// A Failure is an error for a client, which each API writes in its form. What is no fault of the request says nothing of the
// inside.
type Failure struct {
	Status  int // of HTTP
	Message string
	Param   *string // the field that it is about
	Code    *string // what programs tell it by
}

// StatusGone is what logs have for a client that has gone, as nginx's do.
const StatusGone = 499

// Error returns the message.
func (f *Failure) Error() string { return f.Message }

// Fail returns a failure with a status and a code, "" for none.
func Fail(status int, code, format string, args ...any) *Failure {
	f := &Failure{Status: status, Message: fmt.Sprintf(format, args...)}
	if code != "" {
		f.Code = &code
	}
	return f
}

// Of sets the field that the failure is about.
func (f *Failure) Of(param string) *Failure {
	f.Param = &param
	return f
}
