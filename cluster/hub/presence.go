package hub

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
)

// Hold says to whoever asks by [Conn.IsHeld] that a program uses the thing that id names, such as a
// run: until release is called, or until the server notices that the connection has ended. That is
// at once after the end of a process, and after [ServerConfig]'s 30 seconds if the network is cut
// silently or the process stands still. A connection that comes back holds what it held. id is a
// token, see [IsToken].
func (c *Conn) Hold(id string) (release func(), err error) {
	sub, err := c.Subscribe(c.Subject("held", id), func(m *nats.Msg) { m.Respond(nil) })
	if err != nil {
		return nil, err
	}
	return func() { sub.Unsubscribe() }, nil
}

// IsHeld tells whether a program holds id. It is false only if the server says that none does: a
// program that is slow to answer holds it.
func (c *Conn) IsHeld(ctx context.Context, id string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, heldWait)
	defer cancel()
	_, err := c.RequestWithContext(ctx, c.Subject("held", id), nil)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return false, nil
	case errors.Is(err, context.DeadlineExceeded):
		return true, nil
	}
	return true, err
}

// heldWait is how long a program may take to say that it holds something.
const heldWait = time.Second

// A server cuts off programs that do not answer it for pingEvery·(pings+1).
const (
	pingEvery = 10 * time.Second
	pings     = 2
)
