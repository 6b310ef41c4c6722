package embed

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// A sweeper drops what runs have left in the queues whose clients are gone: a client holds its run while it
// lives, see [hub.Conn.Hold]. Otherwise the jobs would be done for nobody, and their results would fill the stream
// until those of living clients find no room. Every worker has a sweeper; they need not agree on anything, as a
// client sends again what is missing.
type sweeper struct {
	worker *Worker
	queues *queues
	lease  time.Duration
	gone   map[string]time.Time // runs that nobody holds, since when
}

func (w *Worker) newSweeper(q *queues) *sweeper {
	s := &sweeper{worker: w, queues: q, lease: w.Lease, gone: map[string]time.Time{}}
	if s.lease == 0 {
		s.lease = DefaultLease
	}
	return s
}

// run sweeps three times in a lease until ctx ends.
func (s *sweeper) run(ctx context.Context) {
	for ctx.Err() == nil {
		pause(ctx, max(s.lease/3, 10*time.Millisecond))
		s.sweep(ctx) // an error passes: the next sweep tries again
	}
}

// sweep drops what is left of runs that nobody has held for a lease.
func (s *sweeper) sweep(ctx context.Context) error {
	runs := map[string]bool{}
	for _, stream := range []string{s.queues.jobs, s.queues.results} {
		info, err := s.queues.info(ctx, stream, ">")
		if err != nil {
			return err
		}
		for run := range countByRun(info) {
			runs[run] = true
		}
	}
	maps.DeleteFunc(s.gone, func(run string, _ time.Time) bool { return !runs[run] })
	for run := range runs {
		if held, err := s.queues.conn.IsHeld(ctx, run); held || err != nil {
			delete(s.gone, run)
			continue
		}
		since, known := s.gone[run]
		if !known {
			s.gone[run] = time.Now()
		} else if time.Since(since) >= s.lease {
			s.worker.report("run %s has no client any more: its jobs and results are dropped", run)
			s.queues.drop(ctx, run)
		}
	}
	return nil
}

// drop removes what a run has on the server. What remains after an error goes by the streams' limits.
func (q *queues) drop(ctx context.Context, run string) {
	q.purge(ctx, q.jobs, q.conn.Subject("embed", jobsToken, "*", run, ">"))
	q.purge(ctx, q.results, q.conn.Subject("embed", resultsToken, run, ">"))
	q.js.DeleteConsumer(ctx, q.results, runConsumer(run))
	s, err := q.js.Stream(ctx, q.jobs)
	if err != nil {
		return
	}
	for name := range s.ConsumerNames(ctx).Name() {
		if isJobsConsumer(name, run) {
			q.js.DeleteConsumer(ctx, q.jobs, name)
		}
	}
}

// countByRun returns how many messages a stream has of each run.
func countByRun(info *jetstream.StreamInfo) map[string]uint64 {
	counts := map[string]uint64{}
	for subject, n := range info.State.Subjects {
		counts[runOf(subject)] += n
	}
	return counts
}

// info returns the state of a stream with its subjects that match a filter.
func (q *queues) info(ctx context.Context, stream, filter string) (*jetstream.StreamInfo, error) {
	s, err := q.js.Stream(ctx, stream)
	if err != nil {
		return nil, err
	}
	return s.Info(ctx, jetstream.WithSubjectFilter(filter))
}

// describeWait is how long the server may take to say what a queue holds.
const describeWait = 2 * time.Second

// describe says what the queues hold and of whom, from the point of view of a run; "" if the server does not answer.
func (q *queues) describe(own string) string {
	ctx, cancel := context.WithTimeout(context.Background(), describeWait)
	defer cancel()
	var parts []string
	for _, x := range []struct{ stream, what string }{{q.jobs, "jobs"}, {q.results, "results"}} {
		info, err := q.info(ctx, x.stream, ">")
		if err != nil {
			return ""
		}
		counts := countByRun(info)
		text := fmt.Sprintf("the queue of %s has %d of %d bytes", x.what, info.State.Bytes, info.Config.MaxBytes)
		for _, run := range slices.Sorted(maps.Keys(counts)) {
			name := "run " + run
			if run == own {
				name = "this run"
			}
			text += fmt.Sprintf(", %d messages of %s", counts[run], name)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

// explain adds to the error of a full stream whose messages fill it. The server has no code of its own for that.
func (q *queues) explain(err error, run string) error {
	var api *jetstream.APIError
	if !errors.As(err, &api) || !strings.Contains(api.Description, "maximum bytes exceeded") {
		return err
	}
	return fmt.Errorf("%w (%s)", err, q.describe(run))
}
