package hub

import (
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// ErrNoRoom is the error of [Server.Ready] while the disk is full.
var ErrNoRoom = errors.New("hub: the disk is full")

// Ready returns nil if the server takes connections and streams take messages, otherwise why not.
func (s *Server) Ready() error {
	s.mu.Lock()
	full := s.noRoom
	s.mu.Unlock()
	if full {
		return ErrNoRoom
	}
	if err := s.Err(); err != nil {
		return err
	}
	health := make(chan string, 1)
	go func() { health <- s.running().Healthz(&server.HealthzOptions{}).Error }()
	select {
	case err := <-health:
		if err != "" {
			return fmt.Errorf("hub: %s", err)
		}
		return nil
	case <-time.After(readyTime):
		return ErrStuck
	}
}

// readyTime is how long the server may take to say how it is.
const readyTime = 3 * time.Second

// Stats returns NATS' numbers of the server and of its JetStream. Numbers of traffic begin with its
// start, also with the one after a full disk. The error comes from NATS, as for a server that has
// ended.
func (s *Server) Stats() (*server.Varz, *server.JSInfo, error) {
	running := s.running()
	v, err := running.Varz(nil)
	if err != nil {
		return nil, nil, fmt.Errorf("hub: %w", err)
	}
	js, err := running.Jsz(nil)
	if err != nil {
		return nil, nil, fmt.Errorf("hub: %w", err)
	}
	return v, js, nil
}
