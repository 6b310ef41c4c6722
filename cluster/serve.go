package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/models/command"
)

const serveUsage = `usage: cluster serve [flags]

Runs a NATS server with JetStream until it is interrupted. An external NATS server does as well.
`

// runServe runs a server until ctx ends.
func runServe(ctx context.Context, s streams, args []string) error {
	var c hub.ServerConfig
	fs := newFlags("serve", serveUsage)
	c.Flags(fs)
	if err := command.Parse(fs, args, s.out); err != nil {
		return err
	}
	if err := noArguments(fs); err != nil {
		return err
	}
	server, err := hub.Serve(ctx, c)
	if err != nil {
		return err
	}
	defer server.Close()
	fmt.Fprintf(s.report, "cluster: listening on %s\n", server.URL())
	if c.StoreDir == "" {
		fmt.Fprintln(s.report, "cluster: without -store, the queue and the directory of sequences are lost when this command ends")
	}
	<-server.Done()
	if ctx.Err() == nil {
		return errors.New("the server ended by itself")
	}
	return nil
}
