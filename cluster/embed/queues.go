package embed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"

	"github.com/attn-go/attn/cluster/hub"
)

// QueueReport is the state of the queue of jobs or of results.
type QueueReport struct {
	Name     string     `json:"name"`     // of the stream
	Messages uint64     `json:"messages"` // jobs that are not done, or results that no client has yet
	Bytes    uint64     `json:"bytes"`
	Limit    int64      `json:"limit"` // bytes; -1 means none
	Runs     []RunCount `json:"runs"`
	Error    string     `json:"error,omitempty"` // such as that of a stream of another version
	created  time.Time
}

// RunCount is how many messages a queue has of a run.
type RunCount struct {
	Run      string `json:"run"`
	Messages uint64 `json:"messages"`
	Held     bool   `json:"held"` // its client is there, see [Worker].Lease
}

// Queues returns the state of the queues of jobs and results, in this order, as far as they exist. It creates none. The
// error is that of NATS or ctx.
func Queues(ctx context.Context, conn *hub.Conn) ([]QueueReport, error) {
	js, err := jetstream.New(conn.Conn)
	if err != nil {
		return nil, err
	}
	q := &queues{conn: conn, js: js}
	var all []QueueReport
	for _, token := range []string{jobsToken, resultsToken} {
		r, err := q.report(ctx, streamName(conn, token))
		switch {
		case errors.Is(err, jetstream.ErrStreamNotFound):
		case err != nil:
			return nil, err
		default:
			all = append(all, r)
		}
	}
	return all, nil
}

// DropQueue deletes a stream that programs of another version have created, with all that it has; the next program makes
// one of its own. A stream of this version, or one that has come since the report, stays, with an error.
func DropQueue(ctx context.Context, conn *hub.Conn, r QueueReport) error {
	js, err := jetstream.New(conn.Conn)
	if err != nil {
		return err
	}
	info, err := (&queues{conn: conn, js: js}).info(ctx, r.Name, ">")
	if err != nil {
		return err
	}
	if checkStream(info) == nil {
		return fmt.Errorf("embed: stream %s is of this version, %v", r.Name, hub.Own)
	}
	if !info.Created.Equal(r.created) {
		return fmt.Errorf("embed: another program has made stream %s anew", r.Name)
	}
	return js.DeleteStream(ctx, r.Name)
}

// OtherWorkers returns the names of workers of another version. The error is that of NATS or ctx.
func OtherWorkers(ctx context.Context, conn *hub.Conn) ([]string, error) {
	found, err := conn.Services(ctx, service)
	if err != nil {
		return nil, err
	}
	own := conn.Subject("embed", infoToken)
	var names []string
	for _, i := range found {
		ofCluster := slices.ContainsFunc(i.Endpoints, func(e micro.EndpointInfo) bool { return e.Subject == own })
		if ofCluster && i.Metadata[hub.VersionHeader] != hub.Own.String() {
			names = append(names, i.Metadata["worker"])
		}
	}
	slices.Sort(names)
	return names, nil
}

// report returns the state of a stream.
func (q *queues) report(ctx context.Context, stream string) (QueueReport, error) {
	info, err := q.info(ctx, stream, ">")
	if err != nil {
		return QueueReport{}, err
	}
	r := QueueReport{Name: stream, Messages: info.State.Msgs, Bytes: info.State.Bytes, Limit: info.Config.MaxBytes, Runs: []RunCount{}, created: info.Created}
	if err := checkStream(info); err != nil {
		r.Error = err.Error()
	}
	counts := countByRun(info)
	for _, run := range slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	}) {
		held, err := q.conn.IsHeld(ctx, run)
		if err != nil {
			return r, err
		}
		r.Runs = append(r.Runs, RunCount{run, counts[run], held})
	}
	return r, nil
}

// streamName returns the name of the stream of jobs or of results.
func streamName(conn *hub.Conn, token string) string { return conn.StreamName("embed_" + token) }

// checkStream returns an error of the kind [hub.ErrVersion] if programs of another version have created a stream.
func checkStream(info *jetstream.StreamInfo) error {
	return hub.ParseVersion(info.Config.Metadata[hub.VersionHeader]).Check("stream " + info.Config.Name)
}
