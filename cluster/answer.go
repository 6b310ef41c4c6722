package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"time"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/relay"
	"github.com/attn-go/attn/models/command"
	"github.com/attn-go/attn/models/server"
	"github.com/attn-go/attn/models/serving"
)

const answerUsage = `usage: cluster answer -model MODEL [-model MODEL ...] [flags]

Answers requests of a gateway, which cluster gateway runs, with models: GGUF files, folders as Hugging Face
has them, or names of those that make models fetches; NAME=MODEL serves one under a name. All workers of a
gateway must have the same fingerprint: the same models and flags that change answers. Others end at once.

An interrupt ends it: what is open is answered, or after -shutdown left to another worker.

`

// answerConfig is a parsed command line.
type answerConfig struct {
	hub      hub.Config
	models   serving.Models
	settings server.Settings
	worker   relay.Worker
	monitor  *monitor
}

// runAnswer answers requests until ctx ends, and then as long as open ones take.
func runAnswer(ctx context.Context, s streams, args []string) error {
	c := answerConfig{monitor: newMonitor("answer")}
	if err := c.parse(s, args); err != nil {
		return err
	}
	const models = "models"
	c.monitor.pending(connection, "no server has answered yet")
	c.monitor.pending(models, "the worker starts")
	stop, err := c.monitor.start(s)
	if err != nil {
		return err
	}
	defer stop()
	log := s.log()
	c.hub.Name, c.hub.Log, c.settings.Logger, c.worker.Log = "attn answer "+c.worker.Name, log, log, log
	if c.worker.Server, err = c.models.Load(ctx, c.settings, log); err != nil {
		return err
	}
	defer func() {
		now, cancel := context.WithCancel(context.Background())
		cancel()
		c.worker.Server.Close(now) // Run has waited for what is open
	}()
	c.monitor.registry.MustRegister(c.worker.Server.Collector())
	if c.worker.Conn, err = connect(ctx, c.hub); err != nil {
		return err
	}
	defer c.worker.Conn.Close()
	c.monitor.connected(c.worker.Conn)
	requests := c.monitor.tasks("answer_requests", "Requests of gateways")
	c.worker.Observe = func(status int, took time.Duration) { requests.count(outcomeOf(status), took) }
	c.worker.Ready = func() {
		c.monitor.require(models, nil)
		fmt.Fprintf(s.report, "cluster: %s answers with the fingerprint %s\n", c.worker.Name, c.worker.Server.SystemFingerprint())
	}
	return c.worker.Run(ctx)
}

// parse parses the command line.
func (c *answerConfig) parse(s streams, args []string) error {
	fs := newFlags("answer", answerUsage)
	c.hub.Flags(fs)
	c.models.Flags(fs, &c.settings)
	c.monitor.flags(fs)
	fs.StringVar(&c.worker.Name, "name", "", "`name` of the worker: letters, digits, - and _ (default one that is made up)")
	fs.DurationVar(&c.hub.Wait, "wait", -1, "how long to wait for a NATS server that does not answer; a negative time means as long as it takes")
	fs.DurationVar(&c.worker.Shutdown, "shutdown", 30*time.Second, "time for requests that are open when it ends")
	patienceFlag(fs, &c.worker.Patience)
	if err := command.Parse(fs, args, s.out); err != nil {
		return err
	}
	if c.worker.Name == "" {
		c.worker.Name = madeUpName()
	}
	if !hub.IsToken(c.worker.Name) {
		return command.Usage(fmt.Errorf("-name is %q, want 1 to 64 letters, digits, - and _", c.worker.Name))
	}
	if c.worker.Shutdown < 0 {
		return command.Usage(fmt.Errorf("-shutdown is %v, want 0 or more", c.worker.Shutdown))
	}
	return errors.Join(noArguments(fs), c.models.Check(&c.settings), checkPatience(c.worker.Patience))
}

// patienceFlag defines the flag of how long the other side may be silent.
func patienceFlag(fs *flag.FlagSet, to *time.Duration) {
	fs.DurationVar(to, "patience", relay.DefaultPatience, "`time` after which a gateway or worker counts as lost that does not answer; one that has ended is noticed at once")
}

func checkPatience(d time.Duration) error {
	if d <= 0 {
		return command.Usage(fmt.Errorf("-patience is %v, want more than 0", d))
	}
	return nil
}

// outcomeOf says what a status means for the metrics.
func outcomeOf(status int) string {
	switch {
	case status == relay.StatusGone:
		return "gone"
	case status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests:
		return "busy"
	case status >= 500:
		return "failed"
	case status >= 400:
		return "refused"
	}
	return "done"
}
