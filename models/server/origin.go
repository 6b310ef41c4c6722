package server

import (
	"context"
	"time"

	"github.com/attn-go/attn/models/server/internal/request"
)

// An Origin is what a gateway has found out about a request that it hands on, and what its answer
// must have so that several servers give the same bytes.
type Origin struct {
	Key       string    // whose request it is, in place of an API key or an address
	RequestID string    // in the log and in X-Request-Id
	AnswerID  string    // in the id of an answer, after its beginning such as "chatcmpl-"
	Created   time.Time // in the field created

	Done func(Tally) // if not nil, is called when the answer to a request of a model has ended
}

// originKey is the key of an Origin in a context.
type originKey struct{}

// WithOrigin returns the context of a request that comes from a gateway, which has checked who
// asks. A server takes it as allowed.
func WithOrigin(ctx context.Context, o Origin) context.Context {
	return context.WithValue(ctx, originKey{}, &o)
}

// originOf returns the origin of a request, or nil.
func originOf(ctx context.Context) *Origin {
	o, _ := ctx.Value(originKey{}).(*Origin)
	return o
}

// stamp returns the id of an answer, without its beginning, and its time, for the field created:
// that since which models are there, if the request is about them.
func (s *Server) stamp(x *exchange, r *request.Request) (id string, created time.Time) {
	if o := originOf(x.ctx); o != nil {
		return o.AnswerID, o.Created
	}
	if _, ok := r.Work.(*request.About); ok {
		return "", s.created
	}
	return s.s.NewID(), s.s.Now()
}
