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

// ServerStats are numbers of a server. Those of traffic begin with its start, also with the one after a full disk.
type ServerStats struct {
	Connections         int   // now
	InMessages, InBytes int64 // of clients
	OutMessages         int64 // to clients
	OutBytes            int64
	SlowConsumers       int64  // clients that were cut off as they did not read
	Streams, Consumers  int    // of JetStream
	Messages            uint64 // that streams have
	File, Memory        uint64 // bytes of streams in files and in memory
	MaxFile, MaxMemory  int64  // [ServerConfig.MaxStore] and [ServerConfig.MaxMemory]
}

// Stats returns the numbers of the server. The error is that of NATS, as from a server that has ended.
func (s *Server) Stats() (ServerStats, error) {
	running := s.running()
	v, err := running.Varz(nil)
	if err != nil {
		return ServerStats{}, fmt.Errorf("hub: %w", err)
	}
	js, err := running.Jsz(nil)
	if err != nil {
		return ServerStats{}, fmt.Errorf("hub: %w", err)
	}
	return ServerStats{
		Connections: v.Connections, InMessages: v.InMsgs, InBytes: v.InBytes, OutMessages: v.OutMsgs, OutBytes: v.OutBytes, SlowConsumers: v.SlowConsumers,
		Streams: js.Streams, Consumers: js.Consumers, Messages: js.Messages,
		File: js.Store, Memory: js.Memory, MaxFile: js.Config.MaxStore, MaxMemory: js.Config.MaxMemory,
	}, nil
}
