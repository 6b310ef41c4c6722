package hub

import (
	"context"
	"encoding/json"
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

// Services asks all NATS services of a name what they are: those of every cluster that the server has. The error is that
// of NATS or ctx.
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
			if json.Unmarshal(msg.Data, &info) == nil {
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
