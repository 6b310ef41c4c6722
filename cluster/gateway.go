package main

import (
	"context"
	"errors"
	"flag"
	"log/slog"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/relay"
	"github.com/attn-go/attn/models/command"
	"github.com/attn-go/attn/models/server"
	"github.com/attn-go/attn/models/serving"
)

const gatewayUsage = `usage: cluster gateway [flags]

Answers HTTP requests in the forms of OpenAI's, Anthropic's and Ollama's APIs with the models of workers, which cluster answer runs. Any
number of them share the requests. One that is lost in the middle of an answer is replaced, and the client
gets the bytes of one server. Without a worker requests get status 503.

`

// gatewayConfig is a parsed command line.
type gatewayConfig struct {
	hub      hub.Config
	web      serving.Web
	settings server.Settings
	relay    relay.GatewayConfig
}

// runGateway hands requests on until ctx ends, and then as long as open ones take.
func runGateway(ctx context.Context, s streams, args []string) error {
	var c gatewayConfig
	fs := newFlags("gateway", gatewayUsage)
	c.hub.Flags(fs)
	c.web.Flags(fs, &c.settings, "http-")
	c.flags(fs)
	if err := command.Parse(fs, args, s.out); err != nil {
		return err
	}
	if err := errors.Join(noArguments(fs), c.web.Check(&c.settings), checkPatience(c.relay.Patience)); err != nil {
		return err
	}
	if c.relay.Tries < 1 {
		return command.Usage(errors.New("-tries: want 1 or more"))
	}
	log := c.web.Log(s.report)
	c.hub.Name, c.hub.Log, c.settings.Logger, c.relay.Log, c.relay.Name = "attn gateway", log, log, log, madeUpName()
	return withServer(ctx, c.hub, false, func(ctx context.Context, conn *hub.Conn) error { return c.run(ctx, conn, log) })
}

// run hands requests on.
func (c *gatewayConfig) run(ctx context.Context, conn *hub.Conn, log *slog.Logger) error {
	gateway, err := relay.NewGateway(conn, c.relay)
	if err != nil {
		return err
	}
	defer gateway.Close()
	handler, err := server.NewGateway(c.settings, gateway)
	if err != nil {
		return err
	}
	l, err := c.web.Listen()
	if err != nil {
		return err
	}
	return c.web.Serve(ctx, l, handler, log)
}

// flags defines the flags of a gateway alone.
func (c *gatewayConfig) flags(fs *flag.FlagSet) {
	waitFlag(fs, &c.hub)
	fs.StringVar(&c.relay.Fingerprint, "fingerprint", "", "`fingerprint` of the workers, as cluster answer prints it (default that of the first one)")
	fs.IntVar(&c.relay.Tries, "tries", 3, "most workers to ask for an answer, one after the other, if they are lost")
	patienceFlag(fs, &c.relay.Patience)
}
