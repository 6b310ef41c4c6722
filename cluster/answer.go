package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/relay"
	"github.com/attn-go/attn/models/command"
	"github.com/attn-go/attn/models/promptcache"
	"github.com/attn-go/attn/models/server"
	"github.com/attn-go/attn/models/serving"
)

const answerUsage = `usage: cluster answer -model MODEL [-model MODEL ...] [flags]

Answers requests of a gateway, which cluster gateway runs, with models: GGUF files, folders as Hugging Face
has them, or names of those that attn fetch downloads; NAME=MODEL serves one under a name. All workers of a
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
	pages    relay.Pages // that workers share, if Most is more than 0
}

// modelsReady is what a worker needs beside a connection.
const modelsReady = "models"

// runAnswer answers requests until ctx ends, and then as long as open ones take.
func runAnswer(ctx context.Context, s streams, args []string) error {
	c := answerConfig{monitor: newMonitor("answer")}
	if err := c.parse(s, args); err != nil {
		return err
	}
	c.monitor.pending(connection, "no server has answered yet")
	c.monitor.pending(modelsReady, "the worker starts")
	stop, err := c.monitor.start(s)
	if err != nil {
		return err
	}
	defer stop()
	log := s.log()
	if c.pages.Most > 0 {
		c.pages.Log = log
		c.settings.PromptCache = promptcache.New(&c.pages, log)
	}
	c.hub.Name, c.hub.Log, c.settings.Logger, c.worker.Log = "attn answer "+c.worker.Name, log, log, log
	models, err := c.models.Load(ctx, c.settings, log)
	if err != nil {
		return err
	}
	c.worker.Server = models
	closeModels := sync.OnceFunc(func() {
		now, cancel := context.WithCancel(context.Background())
		cancel()
		models.Close(now) // Run has waited for what is open
	})
	defer closeModels()
	c.monitor.registry.MustRegister(models.Collector())
	return withServer(ctx, c.hub, true, func(ctx context.Context, conn *hub.Conn) error {
		c.worker.Conn = conn
		defer closeModels() // which writes the last pages to the shared cache: the connection is still open
		return c.run(ctx, s, models.SystemFingerprint())
	})
}

// run answers requests of gateways.
func (c *answerConfig) run(ctx context.Context, s streams, fingerprint string) error {
	c.monitor.connected(c.worker.Conn)
	if c.pages.Most > 0 {
		if err := c.pages.Open(ctx, c.worker.Conn); err != nil {
			return err
		}
	}
	requests := c.monitor.tasks("answer_requests", "Requests of gateways")
	c.worker.Observe = func(status int, took time.Duration) { requests.count(outcomeOf(status), took) }
	c.worker.Ready = func() {
		c.monitor.require(modelsReady, nil)
		fmt.Fprintf(s.report, "cluster: %s answers with the fingerprint %s\n", c.worker.Name, fingerprint)
	}
	return c.worker.Run(ctx)
}

// parse parses the command line.
func (c *answerConfig) parse(s streams, args []string) error {
	fs := newFlags("answer", answerUsage)
	c.hub.Flags(fs)
	c.models.Flags(fs, &c.settings)
	c.monitor.flags(fs)
	nameFlag(fs, &c.worker.Name)
	waitFlag(fs, &c.hub)
	fs.DurationVar(&c.worker.Shutdown, "shutdown", 30*time.Second, "time for open requests to finish after SIGTERM")
	patienceFlag(fs, &c.worker.Patience)
	shared := fs.Uint("cache-shared", 0, "`MiB` of an object store on the NATS server in which all workers keep what language models have computed of texts, in place of -cache-dir; the first worker makes it, and what was written first goes first. It changes no answer, and workers read texts of others from it. 0 is none")
	if err := command.Parse(fs, args, s.out); err != nil {
		return err
	}
	if c.worker.Shutdown < 0 {
		return command.Usage(fmt.Errorf("-shutdown is %v, want 0 or more", c.worker.Shutdown))
	}
	if *shared > 1<<30 || *shared > 0 && fs.Lookup("cache-dir").Value.String() != "" {
		return command.Usage(fmt.Errorf("-cache-shared is %d, want at most %d, and 0 beside -cache-dir", *shared, 1<<30))
	}
	c.pages.Most = int64(*shared) << 20
	return errors.Join(noArguments(fs), checkWorkerName(&c.worker.Name), c.models.Check(&c.settings), checkPatience(c.worker.Patience))
}

// patienceFlag defines the flag of how long the other side may be silent.
func patienceFlag(fs *flag.FlagSet, to *time.Duration) {
	fs.DurationVar(to, "patience", relay.DefaultPatience, "`time` without an answer after which a gateway or worker counts as lost; the end of its process shows at once")
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
