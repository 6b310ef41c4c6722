package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"time"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/models/command"
	"github.com/nats-io/nats.go"
)

// advice says what to do while no server answers.
const advice = "cluster serve runs one, and -server names another"

// connect is hub.Connect, whose error says how to get a server if none answers.
func connect(ctx context.Context, c hub.Config) (*hub.Conn, error) {
	c.Advice = advice
	conn, err := hub.Connect(ctx, c)
	if errors.Is(err, context.Canceled) {
		return nil, err
	}
	if errors.Is(err, nats.ErrNoServers) || errors.Is(err, nats.ErrTimeout) {
		return nil, fmt.Errorf("no server answers: %w. %s", err, advice)
	}
	return conn, err
}

// withServer connects, and calls do. If the server refuses what do needs, as the user's role does
// not allow it, ctx ends and that is the error. A service answers others, who may ask it to send
// where it may not: that ends nothing. A connection that has ended for good, as on messages that
// are no NATS, ends do too: whoever watches the process starts it again.
func withServer(ctx context.Context, c hub.Config, service bool, do func(ctx context.Context, conn *hub.Conn) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c.Denied = func(err error, listens bool) {
		if listens || !service {
			cancel(err)
		}
	}
	c.Closed = func(err error) { cancel(fmt.Errorf("%w: %v", errClosed, err)) }
	conn, err := connect(ctx, c)
	if err != nil {
		return err
	}
	defer conn.Close()
	err = do(ctx, conn)
	if cause := context.Cause(ctx); (err != nil || service) && (errors.Is(cause, hub.ErrPermission) || errors.Is(cause, errClosed)) {
		return cause
	}
	return err
}

// errClosed is the error of a connection that does not come back.
var errClosed = errors.New("the connection has ended for good")

// askTime is how long the whole cluster may take to answer.
const askTime = 30 * time.Second

// ask runs a subcommand: it reads the flags, which define adds to, has check look at what follows
// them, connects, and calls do, which has to end within askTime.
func ask(ctx context.Context, s streams, name, usage string, args []string, check func(fs *flag.FlagSet) error, define func(fs *flag.FlagSet), do func(ctx context.Context, conn *hub.Conn) error) error {
	var server hub.Config
	fs := newFlags(name, usage)
	server.Flags(fs)
	define(fs)
	if err := command.Parse(fs, args, s.out); err != nil {
		return err
	}
	if err := check(fs); err != nil {
		return err
	}
	server.Name, server.Log = "attn "+name, s.log()
	return withServer(ctx, server, false, func(ctx context.Context, conn *hub.Conn) error {
		ctx, cancel := context.WithTimeout(ctx, askTime)
		defer cancel()
		return do(ctx, conn)
	})
}
