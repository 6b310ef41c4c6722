package embed

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/attn-go/attn/cluster/hub"
)

// A worker takes one job of each run in turn, so that a run with few jobs does not wait for all jobs of
// another one. Each run has a JetStream consumer of its own for that, which the first worker that meets the
// run makes. Its state is in the server's memory: what a new one delivers again is at most computed twice,
// and a damaged file of a consumer would keep a run from its end.

// storedToken begins the subject on which a client says that a job is stored: embed.stored.MODEL.RUN. A worker
// without work waits for it. If it is lost, the worker asks for runs after idleWait.
const storedToken = "stored"

const (
	idleWait  = 500 * time.Millisecond // how often a worker without work asks which runs there are
	listEvery = 5 * time.Second        // how often a worker at work does
	pullWait  = 10 * time.Second       // how long the server may take to answer a request for a job
)

// turns are the runs from which a worker takes jobs.
type turns struct {
	worker *Worker
	queues *queues
	inbox  *nats.Subscription // of jobs
	stored *nats.Subscription
	wake   chan struct{} // has an element if heard may have a run
	listed time.Time

	runs  []string // that may have a job, the next one first
	ready map[string]consumer

	mu    sync.Mutex
	heard map[string]bool // runs of which a job is stored
}

// consumer is what the jobs of a run are taken from.
type consumer struct {
	name    string
	ackWait time.Duration
}

// newTurns begins to listen for jobs.
func (w *Worker) newTurns(q *queues) (*turns, error) {
	t := &turns{worker: w, queues: q, wake: make(chan struct{}, 1), ready: map[string]consumer{}, heard: map[string]bool{}}
	var err error
	t.stored, err = w.Conn.Subscribe(w.Conn.Subject("embed", storedToken, modelToken(w.Model.Digest), "*"), func(m *nats.Msg) { t.hear(m.Subject) })
	if err != nil {
		return nil, err
	}
	if t.inbox, err = w.Conn.SubscribeSync(w.Conn.NewInbox()); err != nil {
		t.stored.Unsubscribe()
		return nil, err
	}
	return t, nil
}

func (t *turns) close() {
	t.stored.Unsubscribe()
	t.inbox.Unsubscribe()
}

// hear notes that a run has a job.
func (t *turns) hear(subject string) {
	run := subject[strings.LastIndexByte(subject, '.')+1:]
	t.mu.Lock()
	t.heard[run] = true
	t.mu.Unlock()
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// next waits for a job of the run whose turn it is. It returns the error of ctx, or that of NATS.
func (t *turns) next(ctx context.Context) (*nats.Msg, time.Duration, error) {
	for every := listEvery; ; every = idleWait {
		if time.Since(t.listed) >= every {
			if err := t.list(ctx); err != nil {
				return nil, 0, err
			}
		}
		t.admit()
		for len(t.runs) > 0 {
			run := t.runs[0]
			t.runs = t.runs[1:]
			msg, err := t.pull(ctx, run)
			if err != nil {
				return nil, 0, err
			}
			if msg != nil {
				t.runs = append(t.runs, run)
				return msg, t.ready[run].ackWait, nil
			}
		}
		select {
		case <-t.wake:
		case <-time.After(idleWait):
		case <-ctx.Done():
			return nil, 0, ctx.Err()
		}
	}
}

// admit appends the runs that the worker has heard of.
func (t *turns) admit() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, run := range slices.Sorted(maps.Keys(t.heard)) {
		if hub.IsToken(run) && !slices.Contains(t.runs, run) { // anything else is no client's
			t.runs = append(t.runs, run)
		}
	}
	clear(t.heard)
}

// list asks the server which runs have jobs.
func (t *turns) list(ctx context.Context) error {
	info, err := t.queues.info(ctx, t.queues.jobs, t.worker.Conn.Subject("embed", jobsToken, modelToken(t.worker.Model.Digest), ">"))
	if err != nil {
		return err
	}
	runs := countByRun(info)
	maps.DeleteFunc(t.ready, func(run string, _ consumer) bool { return runs[run] == 0 })
	t.mu.Lock()
	for run := range runs {
		t.heard[run] = true
	}
	t.mu.Unlock()
	t.listed = time.Now()
	return nil
}

// pull takes a job of a run. It returns nil if there is none now.
func (t *turns) pull(ctx context.Context, run string) (*nats.Msg, error) {
	c, err := t.consumer(ctx, run)
	if err != nil {
		return nil, err
	}
	api := fmt.Sprintf("$JS.API.CONSUMER.MSG.NEXT.%s.%s", t.queues.jobs, c.name)
	if err := t.worker.Conn.PublishRequest(api, t.inbox.Subject, []byte(`{"batch":1,"no_wait":true}`)); err != nil {
		return nil, err
	}
	msg, err := t.answer(ctx)
	if err != nil {
		return nil, err // work makes new turns, so that no late job answers another request
	}
	switch status := msg.Header.Get("Status"); status {
	case "":
		return msg, nil
	case "404", "408":
		return nil, nil
	case "503": // the server no longer has it; the next list, or word of a job, makes another one
		delete(t.ready, run)
		return nil, nil
	default:
		delete(t.ready, run)
		return nil, fmt.Errorf("embed: the server gives no job of run %s: %s %s", run, status, msg.Header.Get("Description"))
	}
}

// answer waits for the answer to a request for a job. It does not come if the server has started again meanwhile.
func (t *turns) answer(ctx context.Context) (*nats.Msg, error) {
	conn := t.worker.Conn
	for end, before := time.Now().Add(pullWait), conn.Stats().Reconnects; ; {
		msg, err := t.inbox.NextMsg(retryPause)
		if !errors.Is(err, nats.ErrTimeout) {
			return msg, err
		}
		if ctx.Err() != nil || time.Now().After(end) || conn.Stats().Reconnects != before {
			return nil, errors.Join(ctx.Err(), err)
		}
	}
}

// consumer finds or makes what all workers with this model take the jobs of a run from.
func (t *turns) consumer(ctx context.Context, run string) (consumer, error) {
	if c, ok := t.ready[run]; ok {
		return c, nil
	}
	w, q := t.worker, t.queues
	name := jobsConsumer(modelToken(w.Model.Digest), run)
	ackWait := w.AckWait
	if ackWait == 0 {
		ackWait = DefaultAckWait
	}
	c, err := q.js.Consumer(ctx, q.jobs, name)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		c, err = q.js.CreateConsumer(ctx, q.jobs, jetstream.ConsumerConfig{
			Durable:           name,
			FilterSubject:     w.Conn.Subject("embed", jobsToken, modelToken(w.Model.Digest), run, ">"),
			AckPolicy:         jetstream.AckExplicitPolicy,
			AckWait:           ackWait,
			MaxDeliver:        -1, // workers count: who gives up leaves an answer
			MaxAckPending:     1 << 14,
			MemoryStorage:     true,
			InactiveThreshold: DefaultKeep,
		})
		if errors.Is(err, jetstream.ErrConsumerExists) { // another worker was faster
			c, err = q.js.Consumer(ctx, q.jobs, name)
		}
	}
	if err != nil {
		return consumer{}, err
	}
	t.ready[run] = consumer{name, c.CachedInfo().Config.AckWait}
	return t.ready[run], nil
}

// jobsConsumer names what the jobs of a run are taken from.
func jobsConsumer(model, run string) string { return "run-" + model + "-" + run }

// isJobsConsumer tells whether a name is that of jobsConsumer for the run and any model.
func isJobsConsumer(name, run string) bool {
	model, _, _ := strings.Cut(strings.TrimPrefix(name, "run-"), "-") // a token without -, see modelToken
	return name == jobsConsumer(model, run)
}

// say tells workers that a job is stored.
func (q *queues) say(jobSubject string) error {
	tokens := strings.Split(jobSubject, ".")
	return q.conn.Publish(q.conn.Subject("embed", storedToken, tokens[len(tokens)-3], runOf(jobSubject)), nil)
}
