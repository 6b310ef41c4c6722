package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/attn-go/attn/cluster/embed"
	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/command"
)

const embedUsage = `usage: cluster embed [flags] -o FILE [INPUT...]

Embeds a corpus by the workers of a cluster, which cluster answer -model MODEL runs. INPUT is
a file, a folder, or - for standard input, which is also what no INPUT means. A .jsonl file has
an object {"text": ..., "id": ...} or a string a line, another file a text a line, and in a
folder another file is one text.

Row n of FILE is text n of the input, counted from 0, in the same bytes whichever workers did
it. A text that cannot be embedded has null or NaN, and a line with the reason in
FILE.rejected.jsonl.

After an interrupt (^C) or a crash, the same command goes on where it was.

`

// runEmbed embeds a corpus.
func runEmbed(ctx context.Context, s streams, args []string) error {
	server := hub.Config{Name: "attn embed"}
	o, err := parseEmbed(&server, s, args)
	if err != nil {
		return err
	}
	return withServer(ctx, server, false, func(ctx context.Context, conn *hub.Conn) error { return embedTexts(ctx, conn, s, o) })
}

// embedTexts runs the client of embedding.
func embedTexts(ctx context.Context, conn *hub.Conn, s streams, o *embed.Options) error {
	show := &progress{w: s.report}
	client := embed.Client{Conn: conn, Options: *o, Report: show.message, Progress: show.show}
	summary, err := client.Run(ctx)
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("interrupted after %d texts; the same command goes on there", summary.Texts)
	}
	if errors.Is(err, kernel.ErrArgument) {
		return command.Usage(err)
	}
	if err != nil {
		return err
	}
	writeSummary(s, o, summary)
	return nil
}

// parseEmbed parses the command line.
func parseEmbed(server *hub.Config, s streams, args []string) (*embed.Options, error) {
	o := &embed.Options{Stdin: s.in}
	fs := newFlags("embed", embedUsage)
	server.Flags(fs)
	fs.Func("o", "`file` to write: .jsonl or .npy", func(name string) error {
		if o.Output != "" {
			return errors.New("there is one file to write")
		}
		o.Output = name
		return nil
	})
	fs.StringVar(&o.Format, "format", "auto", "where texts begin and end: jsonl, lines, whole (a text a file) or auto")
	fs.BoolVar(&o.Overwrite, "overwrite", false, "replace existing files")
	fs.StringVar(&o.Model, "model", "", "`name` of the model in cluster answer (default: the only embedding model)")
	fs.IntVar(&o.MaxText, "max-text", embed.DefaultMaxText, "most `bytes` of a text; a larger one is rejected")
	fs.IntVar(&o.JobTexts, "job-texts", embed.DefaultJobTexts, "most texts of a job")
	fs.IntVar(&o.JobBytes, "job-bytes", embed.DefaultJobBytes, "most `bytes` of the texts of a job")
	fs.IntVar(&o.Window, "window", embed.DefaultWindow, "most jobs under way")
	fs.DurationVar(&o.Retry, "retry", embed.DefaultRetry, "`time` without an answer after which a worker counts as lost, and its jobs go to others")
	fs.DurationVar(&o.Patience, "patience", embed.DefaultPatience, "`time` without any result after which the command ends")
	if err := command.Parse(fs, args, s.out); err != nil {
		return nil, err
	}
	if o.Inputs = fs.Args(); len(o.Inputs) == 0 {
		o.Inputs = []string{"-"}
	}
	if o.Output == "" {
		return nil, command.Usage(errors.New("want -o FILE"))
	}
	return o, openAll(o.Inputs)
}

// openAll returns the error of the first file or folder that cannot be opened. To know that needs
// no server.
func openAll(names []string) error {
	for _, name := range names {
		if name == "-" {
			continue
		}
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		f.Close()
	}
	return nil
}

// writeSummary reports what a run did.
func writeSummary(s streams, o *embed.Options, r embed.Summary) {
	fmt.Fprintf(s.report, "cluster: %d texts of which %d are rejected, in %v", r.Texts, r.Rejected, r.Took.Round(time.Millisecond))
	if done := r.Texts - r.Resumed; done > 0 {
		fmt.Fprintf(s.report, ", %.1f texts/s", float64(done)/r.Took.Seconds())
	}
	if r.Resumed > 0 {
		fmt.Fprintf(s.report, ", after %d of an earlier run", r.Resumed)
	}
	fmt.Fprintf(s.report, "\ncluster: model %s, vectors of %d numbers", r.Model, r.Width)
	if r.Split > 0 {
		fmt.Fprintf(s.report, "; the texts of %d jobs were sent one by one", r.Split)
	}
	fmt.Fprintf(s.report, "\ncluster: wrote %s\n", o.Output)
}

// A progress writes now and then how far embedding is.
type progress struct {
	w     io.Writer
	first embed.Progress
	begin time.Time // of the first one
	line  time.Time // when the last line was written
}

// lineEvery is how often a line is written.
const lineEvery = 10 * time.Second

// message writes a line.
func (p *progress) message(text string) { fmt.Fprintf(p.w, "cluster: %s\n", text) }

// show shows the state of a run.
func (p *progress) show(now embed.Progress) {
	if p.begin.IsZero() {
		p.begin, p.line, p.first = time.Now(), time.Now(), now
	}
	if time.Since(p.line) < lineEvery {
		return
	}
	p.line = time.Now()
	took, done := time.Since(p.begin), now.Bytes-p.first.Bytes
	left := ""
	if now.Total >= 0 && done > 0 {
		left = fmt.Sprintf(", %v left", time.Duration(float64(took)*float64(now.Total-now.Bytes)/float64(done)).Round(time.Second))
	}
	p.message(fmt.Sprintf("%d texts, %.1f texts/s%s", now.Texts, float64(now.Texts-p.first.Texts)/took.Seconds(), left))
}
