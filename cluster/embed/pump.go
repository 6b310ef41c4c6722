package embed

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// publishers is how many jobs are sent at once, so that a distant server does not set the pace.
const publishers = 4

// tick is how often the journal reaches the disk and late jobs are looked for.
const tick = 100 * time.Millisecond

// A pump is the traffic of a run. One goroutine owns the window and the journal; the others
// read the input, send jobs and receive results.
type pump struct {
	*run
	window  window
	batches chan batch         // of the input, closed at its end
	jobs    chan *part         // to send
	sent    chan sent          // what became of them
	results chan jetstream.Msg // received
	failed  chan error         // of reading the input

	queue []*part   // to send next
	last  time.Time // of the last result
	cause error     // of the last try to send or to receive that failed
}

// sent reports a part that is stored, or a try that failed and will be repeated.
type sent struct {
	part *part
	err  error
}

// pump sends all jobs and returns when the journal has all results.
func (r *run) pump(ctx context.Context) error {
	release, err := r.client.Conn.Hold(r.journal.Header().Run) // before the first job is sent, see sweeper
	if err != nil {
		return err
	}
	defer release()
	ctx, cancel := context.WithCancel(ctx)
	p := &pump{
		run:     r,
		window:  window{run: r.journal.Header().Run, model: r.model, width: r.summary.Width, parts: map[string]*part{}},
		batches: make(chan batch),
		jobs:    make(chan *part),
		sent:    make(chan sent),
		results: make(chan jetstream.Msg),
		failed:  make(chan error, 1),
		last:    time.Now(),
	}
	var all sync.WaitGroup
	go func() { // nobody waits for it, as reading standard input may take forever
		if err := r.in.send(ctx, p.batches); err != nil {
			p.failed <- err
		}
	}()
	for range publishers {
		all.Go(func() { p.publish(ctx) })
	}
	all.Go(func() { p.receive(ctx) })
	err = p.loop(ctx)
	cancel()
	all.Wait()
	r.summary.Split, r.summary.Doubled = p.window.split, p.window.doubled
	if err == nil {
		p.clean()
	}
	return err
}

// loop owns the window until the input is done.
func (p *pump) loop(ctx context.Context) error {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	batches := p.batches
	for batches != nil || len(p.window.units) > 0 {
		in := batches
		if len(p.window.units) >= p.options.Window {
			in = nil
		}
		jobs, next := p.next()
		var err error
		select {
		case b, ok := <-in:
			if !ok {
				batches = nil
			} else if job := p.window.add(b); job != nil {
				p.enqueue(job)
			}
		case jobs <- next:
			p.queue = p.queue[1:]
		case s := <-p.sent:
			p.stored(s)
		case msg := <-p.results:
			err = p.accept(msg)
		case <-ticker.C:
			err = p.tick()
		case err = <-p.failed:
		case <-ctx.Done():
			err = ctx.Err()
		}
		if err == nil {
			err = p.collect()
		}
		if err != nil {
			return errors.Join(err, p.journal.Sync()) // what is done is not lost
		}
	}
	return p.journal.Sync()
}

// next returns the job to send next and where to, nil if there is none.
func (p *pump) next() (chan<- *part, *part) {
	for ; len(p.queue) > 0; p.queue = p.queue[1:] {
		if job := p.queue[0]; !job.done {
			return p.jobs, job
		}
		p.queue[0].sending = false // its result came meanwhile
	}
	return nil, nil
}

// enqueue queues jobs to send, unless they are being sent.
func (p *pump) enqueue(jobs ...*part) {
	for _, j := range jobs {
		if !j.sending {
			j.sending = true
			p.queue = append(p.queue, j)
		}
	}
}

// stored notes that a job is in the queue, or why it is not yet.
func (p *pump) stored(s sent) {
	if s.err != nil {
		p.note(s.err)
		return
	}
	s.part.sending, s.part.sent = false, time.Now()
}

// note keeps the reason for a delay and reports it when it is new.
func (p *pump) note(err error) {
	if p.cause == nil || p.cause.Error() != err.Error() {
		p.report("%v; trying again", err)
	}
	p.cause = err
}

// accept takes a message with a result. The server need not keep it, although it is not in
// the journal yet: a run that goes on sends all jobs again that the journal lacks. Results
// that wait for their turn must not fill the stream, or the one that they wait for finds no
// room.
func (p *pump) accept(msg jetstream.Msg) error {
	misfits := p.window.misfits
	send, err := p.window.accept(resultPlace(msg.Subject()), msg.Data())
	p.enqueue(send...)
	if p.window.misfits == misfits {
		p.last, p.cause = time.Now(), nil
	}
	msg.Ack() // if it is lost, the result comes again and is dropped
	return err
}

// tick sends late jobs again, shows the progress, and writes to the disk.
func (p *pump) tick() error {
	now := time.Now()
	late := p.window.late(now.Add(-p.options.Retry))
	p.summary.Late += len(late)
	p.enqueue(late...)
	if p.client.Progress != nil {
		p.client.Progress(Progress{Bytes: p.bytes, Total: p.in.corpus.Bytes(), Texts: p.summary.Texts, Resumed: p.summary.Resumed,
			Rejected: p.summary.Rejected, Pending: p.window.outstanding(), Late: p.summary.Late, Doubled: p.window.doubled})
	}
	if n := p.window.outstanding(); n == 0 {
		p.last = now // slow input is no fault
	} else if idle := now.Sub(p.last); idle > p.options.Patience {
		return &StalledError{idle, n, p.cause, p.queues.describe(p.window.run)}
	}
	return p.journal.Sync()
}

// collect moves finished units from the window to the journal, in order.
func (p *pump) collect() error {
	for u := p.window.take(); u != nil; u = p.window.take() {
		for _, e := range u.entries {
			if err := p.journal.Append(e); err != nil {
				return err
			}
			p.count(e)
		}
		p.bytes += u.bytes
	}
	return nil
}
