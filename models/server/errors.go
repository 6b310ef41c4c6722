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
	"github.com/attn-go/attn/models/internal/batch"
	"github.com/attn-go/attn/models/internal/ondemand"
	"github.com/attn-go/attn/models/server/internal/dialect"
	"github.com/attn-go/attn/models/server/internal/fields"
)

// bad returns an error about a request.
func bad(format string, args ...any) *dialect.Failure {
	return dialect.Fail(http.StatusBadRequest, "", format, args...)
}

// badParam returns an error about a field of a request.
func badParam(param, format string, args ...any) *dialect.Failure {
	return bad(format, args...).Of(param)
}

// tooLong returns an error about a text of more tokens than the model sees.
func tooLong(param string, most int) *dialect.Failure {
	return dialect.Fail(http.StatusBadRequest, "context_length_exceeded", "the text has more than %d tokens, which is the most that the model sees", most).Of(param)
}

// failureOf returns the error for a client.
func failureOf(err error) *dialect.Failure {
	var f *dialect.Failure
	var field *fields.Error
	var option *kernel.Error
	var tooBig *http.MaxBytesError
	switch {
	case errors.As(err, new(*kernel.TaskPanic)): // whatever its value is
		return dialect.Fail(http.StatusInternalServerError, "", "internal error")
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
	case errors.Is(err, chattemplate.ErrRefused), errors.Is(err, chattemplate.ErrRender):
		return badParam("messages", "%v", err)
	case errors.As(err, &tooBig):
		return dialect.Fail(http.StatusRequestEntityTooLarge, "", "the request has more than %d bytes", tooBig.Limit)
	case errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, context.DeadlineExceeded):
		return dialect.Fail(http.StatusRequestTimeout, "", "the request did not come in time")
	}
	for _, row := range failures {
		if errors.Is(err, row.err) {
			return dialect.Fail(row.status, row.code, "%s", row.message)
		}
	}
	return dialect.Fail(http.StatusInternalServerError, "", "internal error")
}

// failures are what clients learn of errors that always mean the same. The first that fits counts.
var failures = []struct {
	err           error
	status        int
	code, message string
}{
	{batch.ErrLong, http.StatusBadRequest, "context_length_exceeded", "the text does not fit into the cache"},
	{batch.ErrFull, http.StatusServiceUnavailable, "", "too many requests wait"},
	{batch.ErrKeyFull, http.StatusTooManyRequests, "", "too many of your requests wait"},
	{ErrUnavailable, http.StatusServiceUnavailable, "", "nobody can answer now"},
	{ErrBackend, http.StatusBadGateway, "", "those who could answer have failed"},
	{batch.ErrClosed, http.StatusServiceUnavailable, "", "the server is shutting down"},
	{ondemand.ErrClosed, http.StatusServiceUnavailable, "", "the server is shutting down"},
	{context.DeadlineExceeded, http.StatusGatewayTimeout, "", "the request took longer than it may"},
	{context.Canceled, dialect.StatusGone, "", "the client has gone"},
}

// refuse writes an error as a response, in the form of an API.
func refuse(w http.ResponseWriter, api dialect.Errors, f *dialect.Failure, retryAfter time.Duration) {
	if f.Status == http.StatusServiceUnavailable || f.Status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", strconv.Itoa(max(1, int(retryAfter/time.Second))))
	}
	if f.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(f.Status)
	w.Write(api.Fail(f))
}
