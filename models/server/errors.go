package server

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/grammar"
	"github.com/attn-go/attn/models/server/internal/batch"
	"github.com/attn-go/attn/models/server/internal/dialect"
	"github.com/attn-go/attn/models/server/internal/fields"
)

// bad returns an error about a request.
func bad(format string, args ...any) *dialect.Failure {
	return dialect.Fail(http.StatusBadRequest, "invalid_request_error", "", format, args...)
}

// badParam returns an error about a field of a request.
func badParam(param, format string, args ...any) *dialect.Failure {
	return bad(format, args...).Of(param)
}

// tooLong returns an error about a text of more tokens than the model sees.
func tooLong(param string, most int) *dialect.Failure {
	return dialect.Fail(http.StatusBadRequest, "invalid_request_error", "context_length_exceeded", "the text has more than %d tokens, which is the most that the model sees", most).Of(param)
}

// busy returns an error that says to try again.
func busy(status int, format string, args ...any) *dialect.Failure {
	kind := "overloaded_error"
	if status == http.StatusTooManyRequests {
		kind = "rate_limit_error"
	}
	f := dialect.Fail(status, kind, "", format, args...)
	f.Retry = true
	return f
}

// failureOf returns the error for a client. What is no fault of the request says nothing of the inside.
func failureOf(err error) *dialect.Failure {
	var f *dialect.Failure
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
		return dialect.Fail(http.StatusRequestEntityTooLarge, "invalid_request_error", "", "the request has more than %d bytes", tooBig.Limit)
	case errors.Is(err, batch.ErrLong):
		return dialect.Fail(http.StatusBadRequest, "invalid_request_error", "context_length_exceeded", "the text does not fit into the cache")
	case errors.Is(err, batch.ErrFull):
		return busy(http.StatusServiceUnavailable, "too many requests wait")
	case errors.Is(err, batch.ErrKeyFull):
		return busy(http.StatusTooManyRequests, "too many of your requests wait")
	case errors.Is(err, ErrUnavailable):
		return busy(http.StatusServiceUnavailable, "nobody can answer now")
	case errors.Is(err, ErrBackend):
		return dialect.Fail(http.StatusBadGateway, "server_error", "", "those who could answer have failed")
	case errors.Is(err, batch.ErrClosed):
		return busy(http.StatusServiceUnavailable, "the server is shutting down")
	case errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, context.DeadlineExceeded):
		return dialect.Fail(http.StatusRequestTimeout, "invalid_request_error", "", "the request did not come in time")
	case errors.Is(err, context.DeadlineExceeded):
		return dialect.Fail(http.StatusGatewayTimeout, "timeout_error", "", "the request took longer than it may")
	case errors.Is(err, context.Canceled):
		return dialect.Fail(statusGone, "client_closed_request", "", "the client has gone")
	}
	return dialect.Fail(http.StatusInternalServerError, "server_error", "", "internal error")
}

// statusGone is what logs have for a client that has gone, as nginx's do.
const statusGone = 499

// refuse writes an error as a response, in the form of an API.
func refuse(w http.ResponseWriter, api dialect.Errors, f *dialect.Failure, retryAfter time.Duration) {
	if f.Retry {
		w.Header().Set("Retry-After", strconv.Itoa(max(1, int(retryAfter/time.Second))))
	}
	if f.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(f.Status)
	w.Write(api.Fail(f))
}
