package dialect

import "fmt"

// A Failure is an error for a client. The fields that JSON has are those of OpenAI's API, of which others are made.
type Failure struct {
	Status  int     `json:"-"` // of HTTP
	Retry   bool    `json:"-"` // the client may try again later
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

// Error returns the message.
func (f *Failure) Error() string { return f.Message }

// Fail returns a failure with a status, a type and a code, "" for none.
func Fail(status int, kind, code, format string, args ...any) *Failure {
	f := &Failure{Status: status, Type: kind, Message: fmt.Sprintf(format, args...)}
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
