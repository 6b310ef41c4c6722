package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/grammar"
	"github.com/attn-go/attn/models/server/internal/batch"
	"github.com/attn-go/attn/models/server/internal/fields"
)

// A failure is an error in the form in which OpenAI's API has it.
type failure struct {
	status  int
	retry   bool    // the client may try again later
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

// Error returns the message.
func (f *failure) Error() string { return f.Message }

// fail returns an error with a status, a type and a code, "" for none.
func fail(status int, kind, code, format string, args ...any) *failure {
	f := &failure{status: status, Type: kind, Message: fmt.Sprintf(format, args...)}
	if code != "" {
		f.Code = &code
	}
	return f
}

// bad returns an error about a request.
func bad(format string, args ...any) *failure {
	return fail(http.StatusBadRequest, "invalid_request_error", "", format, args...)
}

// badParam returns an error about a field of a request.
func badParam(param, format string, args ...any) *failure {
	f := bad(format, args...)
	f.Param = &param
	return f
}

// tooLong returns an error about a text of more tokens than the model sees.
func tooLong(param string, most int) *failure {
	f := fail(http.StatusBadRequest, "invalid_request_error", "context_length_exceeded", "the text has more than %d tokens, which is the most that the model sees", most)
	f.Param = &param
	return f
}

// busy returns an error that says to try again.
func busy(status int, format string, args ...any) *failure {
	kind := "overloaded_error"
	if status == http.StatusTooManyRequests {
		kind = "rate_limit_error"
	}
	f := fail(status, kind, "", format, args...)
	f.retry = true
	return f
}

// failureOf returns the error for a client. What is no fault of the request says nothing of the inside.
func failureOf(err error) *failure {
	var f *failure
	var field *fields.Error
	var option *kernel.Error
	var tooBig *http.MaxBytesError
	var refused *chattemplate.RefusedError
	var render *chattemplate.RenderError
	switch {
	case errors.As(err, &f):
		return f
	case errors.As(err, &field) && field.Field == "":
		return bad("%v", field)
	case errors.As(err, &field):
		return badParam(field.Field, "%v", field)
	case errors.Is(err, grammar.ErrLimit):
		return badParam("response_format", "%v", err)
	case errors.As(err, &option) && errors.Is(err, kernel.ErrArgument):
		return bad("%v", option)
	case errors.As(err, &refused):
		return badParam("messages", "%v", refused)
	case errors.As(err, &render):
		return badParam("messages", "%v", render)
	case errors.As(err, &tooBig):
		return fail(http.StatusRequestEntityTooLarge, "invalid_request_error", "", "the request has more than %d bytes", tooBig.Limit)
	case errors.Is(err, batch.ErrLong):
		return fail(http.StatusBadRequest, "invalid_request_error", "context_length_exceeded", "the text does not fit into the cache")
	case errors.Is(err, batch.ErrFull):
		return busy(http.StatusServiceUnavailable, "too many requests wait")
	case errors.Is(err, batch.ErrKeyFull):
		return busy(http.StatusTooManyRequests, "too many of your requests wait")
	case errors.Is(err, ErrUnavailable):
		return busy(http.StatusServiceUnavailable, "nobody can answer now")
	case errors.Is(err, ErrBackend):
		return fail(http.StatusBadGateway, "server_error", "", "those who could answer have failed")
	case errors.Is(err, batch.ErrClosed):
		return busy(http.StatusServiceUnavailable, "the server is shutting down")
	case errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, context.DeadlineExceeded):
		return fail(http.StatusRequestTimeout, "invalid_request_error", "", "the request did not come in time")
	case errors.Is(err, context.DeadlineExceeded):
		return fail(http.StatusGatewayTimeout, "timeout_error", "", "the request took longer than it may")
	case errors.Is(err, context.Canceled):
		return fail(statusGone, "client_closed_request", "", "the client has gone")
	}
	return fail(http.StatusInternalServerError, "server_error", "", "internal error")
}

// statusGone is what logs have for a client that has gone, as nginx's do.
const statusGone = 499

// write writes the error as a response.
func (f *failure) write(w http.ResponseWriter, retryAfter int) {
	if f.retry {
		w.Header().Set("Retry-After", strconv.Itoa(max(1, retryAfter)))
	}
	if f.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(f.status)
	w.Write(f.body())
}

// body returns the error as JSON.
func (f *failure) body() []byte {
	data, err := json.Marshal(map[string]*failure{"error": f})
	if err != nil {
		return []byte(`{"error":{"message":"internal error","type":"server_error","param":null,"code":null}}`)
	}
	return data
}
