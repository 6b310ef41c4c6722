package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/nats-io/nats.go"
)

// connect connects to the server of a command line. If none answers, the error says how to start one.
func connect(ctx context.Context, c hub.Config) (*hub.Conn, error) {
	conn, err := hub.Connect(ctx, c)
	if errors.Is(err, nats.ErrNoServers) && ctx.Err() == nil {
		return nil, fmt.Errorf("%w: cluster serve starts a server, and -server names one", err)
	}
	return conn, err
}
