// Command cluster computes attention and embeddings on several machines, with the bits of
// one. The machines talk over NATS.
//
//	go run ./cluster demo                     a server, workers and a client in one process
//	go run ./cluster serve                    a NATS server with JetStream
//	go run ./cluster work -name a             a worker
//	go run ./cluster embed -o v.npy x.jsonl   embeds a corpus
//	go run ./cluster sequences                lists what workers hold
//	go run ./cluster status                   what gateways, workers and the directory have
//	go run ./cluster upgrade                  drops what another version has left on the server
//	go run ./cluster gateway                  HTTP for the models of workers
//	go run ./cluster answer -model M          a worker of a gateway
//	go run ./cluster keys worker writer       makes users with roles
//	go run ./cluster check URL                whether a process is ready
//
// Each subcommand lists its flags with -h.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/attn-go/attn/models/command"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second interrupt ends the program at once
	args := os.Args[1:]
	command.Exit(nameOf(args), run(ctx, streams{os.Stdin, os.Stdout, os.Stderr}, args))
}

// nameOf returns the name under which an error of a command line is reported: the subcommand's
// whose flags -h lists.
func nameOf(args []string) string {
	for _, c := range subcommands() {
		if len(args) > 0 && c.name == args[0] {
			return "cluster " + c.name
		}
	}
	return "cluster"
}

// streams are the standard streams: results go to out, everything else to report.
type streams struct {
	in          io.Reader
	out, report io.Writer
}

// log returns a log that is written to report.
func (s streams) log() *slog.Logger { return slog.New(slog.NewTextHandler(s.report, nil)) }

// A subcommand is what the first argument names.
type subcommand struct {
	name    string
	summary string
	run     func(ctx context.Context, s streams, args []string) error
}

// subcommands returns all subcommands in the order in which the help lists them. Each has a
// file of its name.
func subcommands() []subcommand {
	return []subcommand{
		{"demo", "run a server, three workers and a client in this process, on real input", runDemo},
		{"serve", "run a NATS server with JetStream", runServe},
		{"work", "hold keys and values, and compute attention over them", runWork},
		{"sequences", "list the sequences of the directory, or free them", runSequences},
		{"status", "print gateways, workers and sequences, and which do not answer", runStatus},
		{"upgrade", "drop what programs of another version have left on the server", runUpgrade},
		{"keys", "make users with roles for a server", runKeys},
		{"embed", "compute the sentence embeddings of a corpus", runEmbed},
		{"gateway", "answer HTTP requests with the models of workers", runGateway},
		{"answer", "load models, and answer requests of gateways", runAnswer},
		{"check", "check the health of a process over HTTP", runCheck},
	}
}

// services are the subcommands that run until they are interrupted: that is no error of theirs.
var services = []string{"serve", "work", "gateway", "answer"}

// run runs the subcommand that args name.
func run(ctx context.Context, s streams, args []string) error {
	if len(args) == 0 {
		return command.Usage(fmt.Errorf("want a subcommand"))
	}
	for _, c := range subcommands() {
		if c.name != args[0] {
			continue
		}
		err := c.run(ctx, s, args[1:])
		if slices.Contains(services, c.name) && ctx.Err() != nil && errors.Is(err, context.Canceled) {
			return nil
		}
		return err
	}
	switch args[0] {
	case "-h", "-help", "--help", "help":
		help(s.out)
		return nil
	}
	return command.Usage(fmt.Errorf("there is no subcommand %q", args[0]))
}

// help lists the subcommands.
func help(w io.Writer) {
	fmt.Fprint(w, "usage: cluster SUBCOMMAND [flags]\n\n"+
		"Attention and embeddings on several machines, with the bits of one. The machines talk over NATS.\n\n")
	for _, c := range subcommands() {
		fmt.Fprintf(w, "  %-9s %s\n", c.name, c.summary)
	}
	fmt.Fprint(w, "\ncluster SUBCOMMAND -h lists the flags of a subcommand.\n")
}

// newFlags returns the flags of a subcommand, whose help begins with usage.
func newFlags(name, usage string) *flag.FlagSet {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.Usage = func() {
		fmt.Fprint(fs.Output(), usage, "\n")
		fs.PrintDefaults()
	}
	return fs
}

// noArguments returns an error if a command line has more than flags.
func noArguments(fs *flag.FlagSet) error {
	if fs.NArg() > 0 {
		return command.Usage(fmt.Errorf("%s has the argument %q, want flags only", fs.Name(), fs.Arg(0)))
	}
	return nil
}
