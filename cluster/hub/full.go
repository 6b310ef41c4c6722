package hub

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// serverLog passes warnings and errors on, and notes that the disk is full, and why the server does
// not start.
type serverLog struct {
	store string // its folder
	full  chan<- struct{}
	fatal chan error // gets the first one
	log   *slog.Logger
}

// newLog returns the log of a server.
func (s *Server) newLog() *serverLog {
	return &serverLog{store: s.store.dir, full: s.full, fatal: make(chan error, 1), log: s.config.Log}
}

func (*serverLog) Noticef(string, ...any) {}
func (*serverLog) Debugf(string, ...any)  {}
func (*serverLog) Tracef(string, ...any)  {}

// Fatalf notes why the server does not start.
func (l *serverLog) Fatalf(format string, v ...any) {
	l.Errorf(format, v...)
	kind := errNotStarted
	if strings.HasPrefix(format, "Can't start JetStream") && l.isDamage(v) {
		kind = errFiles
	}
	select {
	case l.fatal <- fmt.Errorf("%w: %s", kind, fmt.Sprintf(format, v...)):
	default:
	}
}

// isDamage tells whether JetStream failed at what its files have: not at the file system, which may
// be full or refuse it.
func (l *serverLog) isDamage(v []any) bool {
	for _, x := range v {
		if err, ok := x.(error); ok && errors.As(err, new(syscall.Errno)) {
			return false
		}
	}
	return hasRoom(filepath.Join(l.store, server.JetStreamStoreDir), 1)
}

func (l *serverLog) Warnf(format string, v ...any)  { l.say(slog.LevelWarn, format, v) }
func (l *serverLog) Errorf(format string, v ...any) { l.say(slog.LevelError, format, v) }

// say has the log say what an operator is to know, and notes that the disk is full: the server
// passes some errors as text only.
func (l *serverLog) say(level slog.Level, format string, v []any) {
	text := strings.TrimSpace(fmt.Sprintf(format, v...))
	if strings.Contains(text, syscall.ENOSPC.Error()) {
		select {
		case l.full <- struct{}{}:
		default:
		}
	}
	if level == slog.LevelWarn && afterCrash.MatchString(text) {
		level, text = slog.LevelInfo, text+" (usual after a crash: NATS makes its index again of the messages)"
	}
	l.log.Log(context.Background(), level, "nats: "+text)
}

// afterCrash are warnings of NATS that the index of a stream, which it writes now and then, is
// older than the messages: it reads these then.
var afterCrash = regexp.MustCompile(`^Filestore \[\S+\] .*(Stream state outdated|prior state|internal inconsistency)`)

// roomPause is how often a server whose disk is full looks for room.
const roomPause = 500 * time.Millisecond

// watch starts the server anew whenever its disk was full and has room again, until it is
// closed or ends by itself.
func (s *Server) watch(options *server.Options) {
	defer close(s.done)
	for {
		ended := make(chan struct{})
		go func(running *server.Server) {
			running.WaitForShutdown()
			close(ended)
		}(s.running())
		select {
		case <-ended:
			return
		case <-s.stuck:
			return
		case <-s.full:
		}
		s.setNoRoom(true)
		for full := true; full; {
			select {
			case <-ended:
				return
			case <-time.After(roomPause):
				full = !hasRoom(options.StoreDir, int(options.MaxPayload))
			}
		}
		if err := s.restart(options); err != nil {
			if !errors.Is(err, context.Canceled) { // by Close
				s.config.Log.Error("the disk has room again, but the server does not start anew", "error", err)
				s.fail(err)
			}
			return
		}
		s.setNoRoom(false)
	}
}

// setNoRoom notes whether the disk is full.
func (s *Server) setNoRoom(full bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noRoom = full
	if full {
		s.config.Log.Error("the disk is full: streams take no message until it has room", "folder", s.store.dir)
	} else {
		s.config.Log.Info("the disk has room again, and the server has started anew", "folder", s.store.dir)
	}
}

// restart ends the server and starts another one on its port.
func (s *Server) restart(options *server.Options) error {
	old := s.running()
	u, err := url.Parse(old.ClientURL())
	if err != nil {
		return err
	}
	o := options.Clone()
	if o.Port, err = strconv.Atoi(u.Port()); err != nil {
		return err
	}
	old.Shutdown()
	old.WaitForShutdown()
	s.copying.Wait()
	select {
	case <-s.full: // it said so again meanwhile
	default:
	}
	s.starting.Lock()
	defer s.starting.Unlock()
	if err = s.start(context.Background(), o); err != nil && !s.shutdown() {
		s.hang()
	}
	return err
}

// hasRoom tells whether a folder takes a file of so many bytes.
func hasRoom(dir string, bytes int) bool {
	f, err := os.CreateTemp(filepath.Clean(dir), "room")
	if err != nil {
		return false
	}
	defer os.Remove(f.Name())
	defer f.Close()
	_, err = f.Write(make([]byte, bytes))
	return err == nil && f.Sync() == nil
}
