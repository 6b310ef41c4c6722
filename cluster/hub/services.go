package hub

import (
	"context"
	"encoding/json"
	"maps"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// Services answer a search at once, unless others have their processors. It ends
// when none has answered for searchPause after another, and after SearchTime at the latest.
// Where there are none at all, the server says so at once.
const searchPause = 200 * time.Millisecond

// SearchTime is the most time that [Conn.Services] takes.
const SearchTime = 3 * time.Second

// prefixKey is the key of a service's metadata with the prefix of its cluster.
const prefixKey = "prefix"

// Announce has a program found by [Conn.Services], with what it says of itself, until the service
// is stopped. The error comes from NATS.
func (c *Conn) Announce(name, description string, facts map[string]string) (micro.Service, error) {
	metadata := map[string]string{prefixKey: c.prefix, VersionHeader: Own.String()}
	maps.Copy(metadata, facts)
	return micro.AddService(c.Conn, micro.Config{Name: name, Version: "1.0.0", Description: description, Metadata: metadata, QueueGroupDisabled: true})
}

// Services asks the NATS services of a name in this cluster what they are. The error comes from
// NATS or ctx.
func (c *Conn) Services(ctx context.Context, name string) ([]micro.Info, error) {
	inbox := c.NewInbox()
	replies := make(chan *nats.Msg, 1024)
	sub, err := c.ChanSubscribe(inbox, replies)
	if err != nil {
		return nil, err
	}
	defer sub.Unsubscribe()
	subject, err := micro.ControlSubject(micro.InfoVerb, name, "")
	if err == nil {
		err = c.PublishRequest(subject, inbox, nil)
	}
	if err != nil {
		return nil, err
	}
	var found []micro.Info
	end := time.After(SearchTime)
	var pause <-chan time.Time // nil before the first answer
	for {
		select {
		case msg := <-replies:
			if msg.Header.Get("Status") == "503" {
				return found, nil // there are none
			}
			var info micro.Info
			if json.Unmarshal(msg.Data, &info) == nil && info.Metadata[prefixKey] == c.prefix {
				found = append(found, info)
			}
			pause = time.After(searchPause)
		case <-pause:
			return found, nil
		case <-end:
			return found, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
