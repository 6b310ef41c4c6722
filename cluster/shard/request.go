package shard

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/shard/internal/wire"
)

// messenger sends messages to workers.
type messenger struct {
	conn     *hub.Conn
	patience time.Duration // after which it looks whether the worker is still there
}

// sends is how often a message is sent that arrives damaged, or whose answer does.
const sends = 4

// request sends a message to a worker and returns its answer. The error is a [*WorkerError]; it
// wraps an error of the kind [hub.ErrVersion] if the worker is of another version, and ctx's if
// that has ended.
func (m *messenger) request(ctx context.Context, worker, name string, data []byte) (answer []byte, err error) {
	for range sends {
		answer, err = m.requestOnce(ctx, worker, name, data)
		if !damaged(err) {
			break
		}
	}
	return answer, err
}

// damaged tells whether a message may not be what was sent. A version may be damaged too.
func damaged(err error) bool {
	var e *WorkerError
	return errors.As(err, &e) && (e.Code == CodeDamaged || e.Code == CodeVersion)
}

func (m *messenger) requestOnce(ctx context.Context, worker, name string, data []byte) ([]byte, error) {
	msg := nats.NewMsg(m.conn.Subject("shard", worker, name))
	msg.Data = data
	hub.Seal(msg, worker+"."+name)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer time.AfterFunc(m.patience, func() { m.watch(ctx, worker, cancel) }).Stop()
	reply, err := m.conn.RequestMsgWithContext(ctx, msg)
	switch {
	case errors.Is(err, nats.ErrNoResponders) || errors.Is(context.Cause(ctx), nats.ErrNoResponders):
		return nil, &WorkerError{worker, CodeSilent, "it is gone", nats.ErrNoResponders}
	case errors.Is(err, context.DeadlineExceeded):
		return nil, &WorkerError{worker, CodeSilent, "it took too long", err}
	case err != nil:
		return nil, &WorkerError{worker, CodeSilent, err.Error(), err}
	}
	switch err := hub.CheckSeal(reply.Header, reply.Data, msg.Header.Get(hub.SumHeader), "worker "+worker); {
	case errors.Is(err, hub.ErrDamaged):
		return nil, &WorkerError{worker, CodeDamaged, "its answer: " + err.Error(), err}
	case err != nil:
		return nil, &WorkerError{worker, CodeVersion, err.Error(), err}
	}
	if code := reply.Header.Get(micro.ErrorCodeHeader); code != "" {
		return nil, &WorkerError{worker, code, reply.Header.Get(micro.ErrorHeader), nil}
	}
	return reply.Data, nil
}

// watch cancels the wait for a worker's answer when the worker is gone. NATS says at once
// that nobody would get a message, but not of one that it has passed on already.
func (m *messenger) watch(ctx context.Context, worker string, cancel context.CancelCauseFunc) {
	nothing := nats.NewMsg(m.conn.Subject("shard", worker, ping))
	hub.Seal(nothing, worker+"."+ping)
	for ctx.Err() == nil {
		if _, err := m.conn.RequestMsgWithContext(ctx, nothing); errors.Is(err, nats.ErrNoResponders) {
			cancel(err)
		}
		hub.Pause(ctx, m.patience)
	}
}

// put sends rows to a worker.
func (m *messenger) put(ctx context.Context, worker string, p *wire.Put) ([]wire.Status, error) {
	data, err := m.request(ctx, worker, "put", wire.Encode(p))
	if err != nil {
		return nil, err
	}
	statuses, err := wire.DecodeStatuses(data, len(p.Items))
	if err != nil {
		return nil, malformed(worker, err)
	}
	return statuses, nil
}

// statusError returns what the status of an item means, nil if it is stored.
func statusError(worker string, s wire.Status) error {
	switch s {
	case wire.OK:
		return nil
	case wire.Full:
		return &WorkerError{worker, CodeFull, s.String(), nil}
	case wire.Leaving:
		return &WorkerError{worker, CodeLeaving, s.String(), nil}
	}
	return &WorkerError{worker, CodeRefused, s.String(), nil}
}

// silent tells whether a worker gave no answer at all.
func silent(err error) bool {
	var e *WorkerError
	return errors.As(err, &e) && e.Code == CodeSilent
}

// malformed returns an error about an answer that could not be read.
func malformed(worker string, err error) error {
	return &WorkerError{worker, CodeFormat, fmt.Sprint("its answer: ", err), err}
}
