package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/attn-go/attn/cluster/embed"
	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/command"
)

const embedUsage = `usage: cluster embed [flags] -o FILE [-o FILE...] [INPUT...]

Embeds a corpus by the workers of a cluster. INPUT is a file, a folder, or - for standard input,
which is also what no INPUT means. A .jsonl file has an object {"text": ..., "id": ...} or a string
a line, another file a text a line, and in a folder another file is one text.

Row n of each FILE is text n of the input, counted from 0, in the same bytes whichever workers did
it. A text that cannot be embedded has null or NaN, and a line with the reason in the list of
rejected texts.

After an interrupt (^C) or a crash, the same command goes on where it was.

`

// runEmbed embeds a corpus.
func runEmbed(ctx context.Context, s streams, args []string) error {
	server := hub.Config{Name: "attn embed"}
	m := newMonitor("embed")
	o, err := parseEmbed(&server, m, s, args)
	if err != nil {
		return err
	}
	m.pending(connection, "no server has answered yet")
	m.pending("run", "no worker has answered yet")
	stop, err := m.start(s)
	if err != nil {
		return err
	}
	defer stop()
	return withServer(ctx, server, false, func(ctx context.Context, conn *hub.Conn) error {
		m.connected(conn)
		return embedTexts(ctx, conn, s, m, o)
	})
}

// embedTexts runs the client of embedding.
func embedTexts(ctx context.Context, conn *hub.Conn, s streams, m *monitor, o *embed.Options) error {
	bar := newProgress(s.report)
	client := embed.Client{Conn: conn, Options: *o, Report: bar.message, Progress: m.progress(bar.show)}
	summary, err := client.Run(ctx)
	bar.close()
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
func parseEmbed(server *hub.Config, m *monitor, s streams, args []string) (*embed.Options, error) {
	o := &embed.Options{Stdin: s.in}
	fs := newFlags("embed", embedUsage)
	server.Flags(fs)
	m.flags(fs)
	fs.Func("o", "`file` to write: .jsonl, .npy or .parquet; may be repeated", func(name string) error {
		o.Outputs = append(o.Outputs, name)
		return nil
	})
	fs.StringVar(&o.Format, "format", "auto", "where texts begin and end: jsonl, lines, whole (a text a file) or auto")
	fs.StringVar(&o.Rejected, "rejected", "", "`file` for the texts without a vector (default the first -o with .rejected.jsonl)")
	fs.BoolVar(&o.Overwrite, "overwrite", false, "replace files of -o and -rejected that are there already")
	fs.StringVar(&o.Journal, "journal", "", "`file` of results until the end (default the first -o with .journal)")
	fs.StringVar(&o.Model, "digest", "", "digest of the model in `hexadecimal`, as its workers report it (default the one model that all workers have)")
	fs.IntVar(&o.MaxText, "max-text", embed.DefaultMaxText, "most `bytes` of a text; a larger one is rejected")
	fs.IntVar(&o.JobTexts, "job-texts", embed.DefaultJobTexts, "most texts of a job")
	fs.IntVar(&o.JobBytes, "job-bytes", embed.DefaultJobBytes, "most `bytes` of a job")
	fs.IntVar(&o.Window, "window", embed.DefaultWindow, "most jobs under way")
	fs.DurationVar(&o.Retry, "retry", embed.DefaultRetry, "`time` after which a job without a result is sent again")
	fs.DurationVar(&o.Patience, "patience", embed.DefaultPatience, "`time` without any result after which the command ends")
	streamFlags(fs, &o.Limits)
	if err := command.Parse(fs, args, s.out); err != nil {
		return nil, err
	}
	if o.Inputs = fs.Args(); len(o.Inputs) == 0 {
		o.Inputs = []string{"-"}
	}
	if len(o.Outputs) == 0 {
		return nil, command.Usage(errors.New("want -o FILE"))
	}
	return o, openAll(o.Inputs)
}

// openAll returns the error of the first file or folder that cannot be opened. To know that needs no
// server.
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
	if r.Late+r.Doubled+r.Split > 0 {
		fmt.Fprintf(s.report, "; %d jobs were late, %d results came twice, %d jobs were split", r.Late, r.Doubled, r.Split)
	}
	fmt.Fprintln(s.report)
	for _, name := range o.Outputs {
		fmt.Fprintf(s.report, "cluster: wrote %s\n", name)
	}
}
