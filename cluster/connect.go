package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/nats-io/nats.go"
)

// connect is hub.Connect, whose error says how to get a server if none answers.
func connect(ctx context.Context, c hub.Config) (*hub.Conn, error) {
	conn, err := hub.Connect(ctx, c)
	if errors.Is(err, context.Canceled) {
		return nil, err
	}
	if errors.Is(err, nats.ErrNoServers) || errors.Is(err, nats.ErrTimeout) {
		return nil, fmt.Errorf("no server answers: %w. cluster serve runs one, and -server names another", err)
	}
	return conn, err
}
