package embed

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/attn-go/attn/cluster/embed/internal/wire"
	"github.com/attn-go/attn/cluster/hub"
)

// Subjects, after the prefix of the cluster. MODEL is the beginning of the model's digest,
// RUN identifies a client's run, and PLACE a job's texts in it:
//
//	embed.info                        asks workers which model they have
//	embed.jobs.MODEL.RUN.PLACE        the work queue
//	embed.stored.MODEL.RUN            says workers without work that it has a job
//	embed.results.RUN.PLACE           the answers
const (
	infoToken    = "info"
	jobsToken    = "jobs"
	resultsToken = "results"
)

// The limits of both streams, unless [Limits] has others.
const (
	DefaultStreamBytes = 256 << 20
	DefaultKeep        = 24 * time.Hour
)

// Limits are the limits of the streams. They count when the first program of a cluster
// creates the streams; after that the server's count.
type Limits struct {
	JobsBytes    int64         // of all jobs in the queue; 0 means [DefaultStreamBytes]
	ResultsBytes int64         // of all results that no client has yet; 0 means [DefaultStreamBytes]
	Keep         time.Duration // after which what nobody takes is dropped; 0 means [DefaultKeep]
	Replicas     int           // servers of a NATS cluster that hold each message, at most 5; 0 means [hub.Conn.Replicas]
}

// queues are the two streams of a cluster.
type queues struct {
	conn          *hub.Conn
	js            jetstream.JetStream
	limits        Limits
	jobs, results string // names
}

// newQueues finds the streams of the cluster, or creates them. If programs of another version
// created them, the error is one of the kind [hub.ErrVersion].
func newQueues(ctx context.Context, conn *hub.Conn, limits Limits) (*queues, error) {
	js, err := jetstream.New(conn.Conn)
	if err != nil {
		return nil, err
	}
	q := &queues{conn: conn, js: js, limits: limits, jobs: streamName(conn, jobsToken), results: streamName(conn, resultsToken)}
	return q, q.reach(ctx)
}

// reachWait is how long the streams may be out of reach when a program begins, as while the
// server starts again.
const reachWait = 20 * time.Second

// reach is open, tried again while the server does not answer.
func (q *queues) reach(ctx context.Context) error {
	for end := time.Now().Add(reachWait); ; {
		err := q.open(ctx)
		away := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout) || errors.Is(err, nats.ErrNoResponders)
		if !away || ctx.Err() != nil || time.Now().After(end) {
			return err
		}
		pause(ctx, retryPause)
	}
}

// retryPause is the time between tries to reach the streams.
const retryPause = 200 * time.Millisecond

// open finds or creates the streams.
func (q *queues) open(ctx context.Context) error {
	if err := q.stream(ctx, q.jobs, jobsToken, q.limits.JobsBytes); err != nil {
		return err
	}
	return q.stream(ctx, q.results, resultsToken, q.limits.ResultsBytes)
}

func (q *queues) stream(ctx context.Context, name, token string, bytes int64) error {
	if bytes == 0 {
		bytes = DefaultStreamBytes
	}
	keep := q.limits.Keep
	if keep == 0 {
		keep = DefaultKeep
	}
	replicas := q.limits.Replicas
	if replicas == 0 {
		replicas = q.conn.Replicas()
	}
	s, err := q.js.Stream(ctx, name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		s, err = q.js.CreateStream(ctx, jetstream.StreamConfig{
			Name:                 name,
			Subjects:             []string{q.conn.Subject("embed", token, ">")},
			Retention:            jetstream.WorkQueuePolicy,
			Storage:              jetstream.FileStorage,
			MaxBytes:             bytes,
			MaxAge:               keep,
			Replicas:             replicas,
			Discard:              jetstream.DiscardNew,
			MaxMsgsPerSubject:    1, // sending again what is there changes nothing
			DiscardNewPerSubject: true,
			Metadata:             map[string]string{hub.VersionHeader: hub.Own.String()},
		})
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another program was faster
			s, err = q.js.Stream(ctx, name)
		}
	}
	if err != nil {
		return fmt.Errorf("embed: stream %s: %w", name, err)
	}
	return checkStream(s.CachedInfo())
}

// runOf returns the run that a subject of a job or a result names.
func runOf(subject string) string {
	tokens := strings.Split(subject, ".")
	return tokens[max(len(tokens)-2, 0)]
}

// modelToken is how subjects name a model.
func modelToken(model wire.Hash) string { return hex.EncodeToString(model[:8]) }

// A place is where the texts of a job stand in a run: the position of the first one and
// their number.
type place struct {
	run   string
	first int64
	texts int
}

func (p place) String() string { return fmt.Sprintf("%d-%d", p.first, p.texts) }

func (q *queues) jobSubject(model wire.Hash, p place) string {
	return q.conn.Subject("embed", jobsToken, modelToken(model), p.run, p.String())
}

// resultSubject returns the subject for the answer to a job that came on the given subject.
func (q *queues) resultSubject(jobSubject string) string {
	return q.conn.Subject("embed", resultsToken, runOf(jobSubject), resultPlace(jobSubject))
}

// resultPlace returns the last token of the subject of a job or a result.
func resultPlace(subject string) string { return subject[strings.LastIndexByte(subject, '.')+1:] }

// mostTexts returns how many vectors of a width fit into a message of the server.
func mostTexts(conn *hub.Conn, width int) int {
	room := min(conn.MaxPayload(), wire.MaxBytes) - wire.ResultOverhead - headerBytes
	return min(max(int(room)/(4*width), 0), wire.MaxTexts)
}

// publishWait is how long a message may take to be stored.
const publishWait = 4 * time.Second

// publish stores a message once. It is no error if a message with that subject is there.
func (q *queues) publish(ctx context.Context, subject string, data []byte) error {
	ctx, cancel := context.WithTimeout(ctx, publishWait)
	defer cancel()
	msg := &nats.Msg{Subject: subject, Data: data}
	hub.Stamp(msg)
	_, err := q.js.PublishMsg(ctx, msg)
	if isThere(err) {
		return nil
	}
	return err
}

// fetchWait is how long a request for messages lasts. The server ends it a second earlier, so
// that no message comes when nobody waits any more: it would be late by the acknowledgement
// wait. fetchAlive is how often the server says meanwhile that it is there; after twice that
// time the request ends with an error.
const (
	fetchWait  = 10 * time.Second
	fetchAlive = time.Second
)

// fetch takes up to n messages, as far as some come in time. After the end of ctx it returns
// the error of ctx.
func fetch(ctx context.Context, consumer jetstream.Consumer, n int, do func(jetstream.Msg)) error {
	within, cancel := context.WithTimeout(ctx, fetchWait)
	defer cancel()
	messages, err := consumer.Fetch(n, jetstream.FetchContext(within), jetstream.FetchHeartbeat(fetchAlive))
	if err != nil {
		return errors.Join(ctx.Err(), err)
	}
	for msg := range messages.Messages() {
		do(msg)
	}
	err = messages.Error()
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		err = nil
	}
	return errors.Join(ctx.Err(), err)
}

// isThere tells whether a stream refused a message because it has one with that subject. The
// server has no code of its own for that.
func isThere(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && strings.Contains(api.Description, "maximum messages per subject exceeded")
}

// isLost tells whether a server no longer has a stream or a consumer, as after it lost its
// files.
func isLost(err error) bool {
	return errors.Is(err, jetstream.ErrNoStreamResponse) || errors.Is(err, jetstream.ErrStreamNotFound) ||
		errors.Is(err, jetstream.ErrConsumerNotFound) || errors.Is(err, jetstream.ErrConsumerDeleted)
}

// purge removes the messages of a stream with the given subjects.
func (q *queues) purge(ctx context.Context, stream, subject string) error {
	s, err := q.js.Stream(ctx, stream)
	if err != nil {
		return err
	}
	return s.Purge(ctx, jetstream.WithPurgeSubject(subject))
}

// pause waits, but not after the end of ctx.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
