package embed

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// tell passes on what became of a job. It returns false at the end of ctx.
func (p *pump) tell(ctx context.Context, s sent) bool {
	select {
	case p.sent <- s:
		return true
	case <-ctx.Done():
		return false
	}
}

// publish sends jobs, each until it is stored.
func (p *pump) publish(ctx context.Context) {
	for {
		select {
		case job := <-p.jobs:
			p.store(ctx, job)
		case <-ctx.Done():
			return
		}
	}
}

// store sends a job until it is stored.
func (p *pump) store(ctx context.Context, job *part) {
	subject := p.queues.jobSubject(p.model, job.place)
	for backoff := 50 * time.Millisecond; ctx.Err() == nil; backoff = min(2*backoff, 2*time.Second) {
		err := p.queues.publish(ctx, subject, job.data)
		if err == nil {
			p.queues.say(subject) // if that fails, workers find the job by themselves
			p.tell(ctx, sent{part: job})
			return
		}
		if isLost(err) {
			err = errors.Join(err, p.queues.open(ctx))
		}
		if !p.tell(ctx, sent{job, fmt.Errorf("a job is not stored yet: %w", err)}) {
			return
		}
		pause(ctx, backoff)
	}
}

// consumerName names what the results of this run are taken from.
func (p *pump) consumerName() string { return runConsumer(p.journal.Header().Run) }

func runConsumer(run string) string { return "run-" + run }

// resultWait is the time after which the server sends a result again that the client did not
// acknowledge.
const resultWait = 15 * time.Second

// receive passes on results.
func (p *pump) receive(ctx context.Context) {
	for ctx.Err() == nil {
		err := p.take(ctx)
		if ctx.Err() != nil || !p.tell(ctx, sent{err: fmt.Errorf("results do not come: %w", err)}) {
			return
		}
		pause(ctx, retryPause)
		if isLost(err) {
			p.queues.open(ctx)
		}
	}
}

// take passes on results until something fails.
func (p *pump) take(ctx context.Context) error {
	// What was delivered to an earlier process of this run, or before the connection was lost,
	// comes again at once.
	err := p.queues.js.DeleteConsumer(ctx, p.queues.results, p.consumerName())
	if err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
		return err
	}
	consumer, err := p.queues.js.CreateOrUpdateConsumer(ctx, p.queues.results, jetstream.ConsumerConfig{
		Durable:           p.consumerName(),
		FilterSubject:     p.client.Conn.Subject("embed", resultsToken, p.journal.Header().Run, ">"),
		AckPolicy:         jetstream.AckExplicitPolicy,
		AckWait:           resultWait,
		MaxAckPending:     -1,   // the window is the limit
		MemoryStorage:     true, // see turns
		InactiveThreshold: DefaultKeep,
	})
	if err != nil {
		return err
	}
	for {
		err := fetch(ctx, consumer, publishers, func(msg jetstream.Msg) {
			select {
			case p.results <- msg:
			case <-ctx.Done():
			}
		})
		if err != nil {
			return err
		}
	}
}

// cleanWait is how long the end of a run may wait for the server.
const cleanWait = 5 * time.Second

// clean removes what a run leaves on the server. If that fails, the streams' limits do it.
func (p *pump) clean() {
	ctx, cancel := context.WithTimeout(context.Background(), cleanWait)
	defer cancel()
	p.queues.drop(ctx, p.journal.Header().Run)
}
