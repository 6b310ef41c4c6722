package embed

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/attn-go/attn/cluster/embed/internal/wire"
	"github.com/attn-go/attn/cluster/hub"
)

// The defaults of a [Worker].
const (
	DefaultAckWait    = 30 * time.Second
	DefaultDeliveries = 5
	DefaultLease      = 15 * time.Second
)

// A Worker does the jobs of all clients that want its model, one at a time, of each run in turn.
type Worker struct {
	Conn   *hub.Conn
	Name   string
	Model  *Model
	Limits Limits // of the streams, if this worker creates them

	// AckWait is the time without a sign of life after which a job goes to another worker; a
	// worker at work gives three signs in that time. The first worker that meets a run decides
	// for its jobs. 0 means [DefaultAckWait].
	AckWait time.Duration

	// Deliveries is how many workers may fail in a job before it ends without a result. 0
	// means [DefaultDeliveries].
	Deliveries int

	// Lease is after how long without its client a run's jobs and results are dropped. A client that
	// comes back sends again what its journal lacks. 0 means [DefaultLease], and a negative time that this
	// worker drops nothing.
	Lease time.Duration

	// Report is called with what a person might want to know. nil means silence.
	Report func(message string)

	// Observe, if not nil, is called after each job: texts that it has vectors for, what became of it (done, refused,
	// failed, or retried if it goes to another worker), and the time that it took.
	Observe func(texts int, outcome string, took time.Duration)

	// Ready, if not nil, is called once, when the worker begins to take jobs.
	Ready func()
}

// Run works until ctx ends, and returns its error. Before that it returns only if the
// cluster is of another version, with an error of the kind [hub.ErrVersion], or if the streams can neither
// be found nor created.
func (w *Worker) Run(ctx context.Context) error {
	q, err := newQueues(ctx, w.Conn, w.Limits)
	if err != nil {
		return err
	}
	service, err := w.serveInfo()
	if err != nil {
		return err
	}
	defer service.Stop()
	if err := w.Conn.Flush(); errors.Is(err, hub.ErrPermission) {
		return err
	}
	if w.Ready != nil {
		w.Ready()
	}
	if w.Lease >= 0 {
		var sweeping sync.WaitGroup
		defer sweeping.Wait()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		sweeping.Go(func() { w.newSweeper(q).run(ctx) })
	}
	for ctx.Err() == nil {
		if err := w.work(ctx, q); err != nil && ctx.Err() == nil {
			w.report("%v; trying again", err)
			pause(ctx, retryPause)
			if err := q.open(ctx); errors.Is(err, hub.ErrVersion) {
				return err
			}
		}
	}
	return ctx.Err()
}

func (w *Worker) report(format string, args ...any) {
	if w.Report != nil {
		w.Report(fmt.Sprintf(format, args...))
	}
}

// work takes and does jobs until something fails.
func (w *Worker) work(ctx context.Context, q *queues) error {
	t, err := w.newTurns(q)
	if err != nil {
		return err
	}
	defer t.close()
	for {
		msg, ackWait, err := t.next(ctx)
		if err != nil {
			return err
		}
		w.do(ctx, q, msg, ackWait)
	}
}

// do answers a job. While it works it tells the server so.
func (w *Worker) do(ctx context.Context, q *queues, msg *nats.Msg, ackWait time.Duration) {
	stop := make(chan struct{})
	var alive sync.WaitGroup
	alive.Go(func() {
		tick := time.NewTicker(ackWait / 3)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				msg.InProgress()
			case <-stop:
				return
			}
		}
	})
	defer alive.Wait()
	defer close(stop)
	begin := time.Now()
	result := w.answer(ctx, msg)
	if w.Observe != nil {
		texts, what := outcome(result)
		w.Observe(texts, what, time.Since(begin))
	}
	if result == nil { // another worker, or this one later
		msg.NakWithDelay(min(time.Second, ackWait))
		return
	}
	subject, data := q.resultSubject(msg.Subject), result.Encode()
	// The server may be away or full. The result is not lost in either case: if this worker
	// is too late, another one has sent the same bits.
	for backoff := 50 * time.Millisecond; ; backoff = min(2*backoff, 2*time.Second) {
		err := q.publish(ctx, subject, data)
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return
		}
		w.report("%s is not stored yet: %v", subject, q.explain(err, runOf(subject)))
		if isLost(err) {
			q.open(ctx)
		}
		pause(ctx, backoff)
	}
	if result.Status == wire.Refused {
		msg.Term()
		return
	}
	msg.Ack()
}

// outcome says what became of a job, and how many vectors it has.
func outcome(r *wire.Result) (texts int, what string) {
	switch {
	case r == nil:
		return 0, "retried"
	case r.Status == wire.Refused:
		return 0, "refused"
	case r.Status == wire.Failed:
		return 0, "failed"
	}
	return len(r.Values), "done"
}

// answer returns the result of a job, or nil if it should be tried again.
func (w *Worker) answer(ctx context.Context, msg *nats.Msg) *wire.Result {
	job, hash, err := wire.DecodeJob(msg.Data)
	result := &wire.Result{Job: hash, Model: w.Model.Digest}
	refuse := func(err error) *wire.Result {
		w.report("%s is refused: %v", msg.Subject, err)
		result.Status, result.Reason = wire.Refused, wire.Cut(err.Error())
		return result
	}
	if versionErr := hub.CheckHeader(msg.Header, "job"); versionErr != nil {
		return refuse(versionErr)
	}
	if err != nil {
		return refuse(err)
	}
	if job.Model != w.Model.Digest {
		return refuse(fmt.Errorf("the job is for the model %x, this worker has %x", job.Model, w.Model.Digest))
	}
	if most := w.mostTexts(); len(job.Texts) > most {
		return refuse(fmt.Errorf("the job has %d texts, want at most %d, whose vectors fit into a message", len(job.Texts), most))
	}
	limit := w.Deliveries
	if limit == 0 {
		limit = DefaultDeliveries
	}
	deliveries := uint64(1)
	if meta, err := msg.Metadata(); err == nil {
		deliveries = meta.NumDelivered
	}
	if deliveries > uint64(limit) {
		w.report("%s: %d workers took it and gave no answer", msg.Subject, limit)
		result.Status, result.Reason = wire.Failed, fmt.Sprintf("no worker survived or answered in %d deliveries", limit)
		return result
	}
	vectors, err := w.embed(ctx, job.Texts)
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil && deliveries < uint64(limit):
		w.report("%s failed: %v", msg.Subject, err)
		return nil
	case err != nil:
		result.Status, result.Reason = wire.Failed, wire.Cut("embedding failed: "+err.Error())
		return result
	}
	result.Width, result.Values = w.Model.Width(), vectors
	return result
}

// mostTexts returns how many vectors fit into a message.
func (w *Worker) mostTexts() int { return mostTexts(w.Conn, w.Model.Width()) }

// embed calls the model and checks what it returns. Its panic is an error, as a text of a
// stranger must not end a worker.
func (w *Worker) embed(ctx context.Context, texts []string) (vectors [][]float32, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	vectors, err = w.Model.Embed(ctx, texts)
	if err != nil {
		return nil, err
	}
	if len(vectors) != len(texts) {
		return nil, fmt.Errorf("the model gave %d vectors for %d texts", len(vectors), len(texts))
	}
	for i, v := range vectors {
		if !usable(v, w.Model.Width()) {
			return nil, fmt.Errorf("the model gave text %d of %d other than %d finite numbers", i, len(texts), w.Model.Width())
		}
	}
	return vectors, nil
}

// usable tells whether a vector has width finite numbers.
func usable(v []float32, width int) bool {
	for _, x := range v {
		if x-x != 0 {
			return false
		}
	}
	return len(v) == width
}
