package embed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/nats-io/nuid"

	"github.com/attn-go/attn/cluster/embed/internal/corpus"
	"github.com/attn-go/attn/cluster/embed/internal/journal"
	"github.com/attn-go/attn/cluster/embed/internal/vectors"
	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/relay"
)

// A Client embeds a corpus by the workers of a cluster.
type Client struct {
	Conn    *hub.Conn
	Options Options

	// Report is called with what a person might want to know. nil means silence.
	Report func(message string)

	// Progress is called some times a second. nil means that nobody looks.
	Progress func(Progress)
}

// A Progress says how far a run is.
type Progress struct {
	Bytes, Total int64 // of the input; Total is -1 if it is unknown
	Texts        int64 // all records that are done
	Resumed      int64 // how many the journal had
	Rejected     int64 // how many have no vector
	Pending      int   // jobs without a result
}

// A Summary says what a run did.
type Summary struct {
	Texts    int64         // records of the input
	Resumed  int64         // those that the journal had
	Rejected int64         // those without a vector
	Model    string        // its name
	Width    int           // numbers of a vector
	Took     time.Duration // without the files in the end
	Split    int           // jobs whose texts were sent one by one, as all of them failed
}

// Run embeds the corpus and writes the files. After an error other than a [*kernel.Error] the
// journal stays, and the next Run with the same options goes on with it. The errors are a
// [*kernel.Error], a [*StalledError], an error of the kind [ErrMismatch], [ErrLocked], and the
// errors of ctx and of files.
func (c *Client) Run(ctx context.Context) (Summary, error) {
	o, err := c.Options.complete()
	if err != nil {
		return Summary{}, err
	}
	in, err := corpus.Open(o.Inputs, corpus.Options{Format: corpus.Format(o.Format), MaxText: o.MaxText, Stdin: o.Stdin})
	if err != nil {
		return Summary{}, err
	}
	r := &run{client: c, options: o, in: &reader{corpus: in, texts: o.JobTexts, bytes: o.JobBytes}, asker: asker{run: nuid.Next()}}
	if r.asker.gateway, err = relay.NewGateway(c.Conn, relay.GatewayConfig{Name: "embed-" + r.asker.run, Patience: o.Retry, Tries: tries, PerWorker: perWorker}); err != nil {
		in.Close()
		return Summary{}, err
	}
	defer r.asker.gateway.Close()
	if err := r.begin(ctx); err != nil {
		in.Close()
		return Summary{}, err
	}
	begin := time.Now()
	if err := r.pump(ctx); err != nil {
		r.journal.Close()
		return r.summary, err
	}
	r.summary.Took = time.Since(begin)
	if err := r.files(); err != nil {
		r.journal.Close()
		return r.summary, err
	}
	return r.summary, r.journal.Remove()
}

// ErrLocked is the error of [Client.Run] if another process has the journal.
var ErrLocked = journal.ErrLocked

// ErrMismatch is the kind of a [kernel.Error] about a file that has the name of the journal and is
// none, or a journal of another run: another version, input, model
// or setting.
var ErrMismatch = journal.ErrMismatch

// A run is one call of Run.
type run struct {
	client  *Client
	options Options
	in      *reader
	journal *journal.Journal
	asker   asker
	summary Summary
	bytes   int64 // of the input that is done
}

func (r *run) report(format string, args ...any) {
	if r.client.Report != nil {
		r.client.Report(fmt.Sprintf(format, args...))
	}
}

// begin finds the model, and opens the journal.
func (r *run) begin(ctx context.Context) error {
	asked := 0
	err := r.asker.find(ctx, r.options.Model, func() {
		if asked++; asked == 4 {
			r.report("waiting for a worker: cluster answer -model MODEL runs one")
		}
	})
	if err != nil {
		return err
	}
	r.summary.Model, r.summary.Width = r.asker.model.ID, r.asker.model.Dimensions
	r.journal, err = journal.Open(r.options.journal(), journal.Header{
		Version: hub.Own.String(), Model: r.asker.model.Fingerprint, Width: r.summary.Width, MaxText: r.options.MaxText,
	}, r.replay)
	if err == nil && r.journal.Lost() > 0 {
		r.report("%s: %s", r.options.journal(), lost(r.journal.Lost(), r.journal.Behind(), r.summary.Resumed))
	}
	if err == nil && r.summary.Resumed > 0 {
		r.report("going on after %d texts", r.summary.Resumed)
	}
	return err
}

// lost says what a journal has lost after so many texts.
func lost(bytes int64, behind int, after int64) string {
	if behind > 0 {
		return fmt.Sprintf("THE JOURNAL IS DAMAGED after %d texts: its last %d bytes are dropped, with the results of %d texts that are whole behind the damage; all of them are computed again", after, bytes, behind)
	}
	return fmt.Sprintf("its last %d bytes, after %d texts, are dropped: a crash or damage has left no whole entry there; their texts are computed again", bytes, after)
}

// replay expects the input to begin with the record of an entry of the journal.
func (r *run) replay(e journal.Entry) error {
	x, err := r.in.peek()
	if errors.Is(err, io.EOF) {
		return journal.Mismatch(r.options.journal(), fmt.Sprintf("record %d", r.in.position), e.Source, "none, as the input ends before")
	}
	if err != nil {
		return err
	}
	if x.entry.Key != e.Key {
		return journal.Mismatch(r.options.journal(), fmt.Sprintf("record %d", r.in.position), e.Source+" with other contents", x.Source)
	}
	r.in.take()
	r.bytes += x.Bytes
	r.summary.Resumed++
	r.count(e)
	return nil
}

// count counts an entry of the journal.
func (r *run) count(e journal.Entry) {
	r.summary.Texts++
	if e.Reason != "" {
		r.summary.Rejected++
	}
}

// files writes all files out of the journal.
func (r *run) files() error {
	each := func(put func(vectors.Row) error) error {
		n := int64(0)
		err := r.journal.Read(func(e journal.Entry) error {
			n++
			return put(vectors.Row{Source: e.Source, ID: e.ID, Reason: e.Reason, Vector: e.Vector})
		})
		if err == nil && n != r.summary.Texts {
			err = fmt.Errorf("embed: %s: %d of %d entries can be read", r.options.journal(), n, r.summary.Texts)
		}
		return err
	}
	if err := vectors.Write(r.options.Output, r.summary.Width, r.summary.Texts, each); err != nil {
		return err
	}
	if r.summary.Rejected == 0 { // not the list of an older run
		if err := os.Remove(r.options.rejected()); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	}
	return vectors.WriteRejected(r.options.rejected(), each)
}
