package hub

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/attn-go/attn/cluster/internal/testutil"
)

// serveIn starts a server in a folder, and returns what it logs.
func serveIn(t *testing.T, dir string) (*Server, *testutil.Buffer) {
	log := &testutil.Buffer{}
	s, err := Serve(t.Context(), ServerConfig{Port: -1, StoreDir: dir, Log: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s, log
}

// until waits for what is to become true. go test ends a test that hangs.
func until(is func() bool) {
	for !is() {
		time.Sleep(time.Millisecond)
	}
}

// TestCloseDuringRestart: a server that is closed while it starts anew, after a full disk, does not
// run afterwards, and logs no fault.
func TestCloseDuringRestart(t *testing.T) {
	t.Parallel()
	for i := range 10 {
		s, log := serveIn(t, t.TempDir())
		first := s.running()
		s.full <- struct{}{}
		for s.running() == first {
			runtime.Gosched()
		}
		time.Sleep(time.Duration(i/2) * time.Millisecond)
		var closing sync.WaitGroup
		for range 2 {
			closing.Go(s.Close)
		}
		closing.Wait()
		if s.running().JetStreamEnabled() || log.Count("does not start anew") > 0 {
			t.Errorf("try %d: JetStream runs: %v; %s", i, s.running().JetStreamEnabled(), log)
		}
	}
}

// TestFailedRestart: Err says why a server has not started anew, and Close returns.
func TestFailedRestart(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	s, log := serveIn(t, dir)
	away := dir + ".away"
	if err := os.Rename(dir, away); err != nil {
		t.Fatal(err)
	}
	s.full <- struct{}{}
	until(func() bool { return log.Count("the disk is full") > 0 })
	if err := os.RemoveAll(filepath.Join(away, "jetstream")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(away, "jetstream"), nil, 0o600); err != nil { // where a folder is to be
		t.Fatal(err)
	}
	if err := os.Rename(away, dir); err != nil {
		t.Fatal(err)
	}
	<-s.Done()
	if s.Err() == nil {
		t.Errorf("the server has ended by itself, and Err is nil: %s", log)
	}
	s.Close()
}

// A hanging log blocks whoever says that something happens.
type hanging chan bool

func (h hanging) Noticef(string, ...any) { <-h }
func (h hanging) Warnf(string, ...any)   {}
func (h hanging) Fatalf(string, ...any)  {}
func (h hanging) Errorf(string, ...any)  {}
func (h hanging) Debugf(string, ...any)  {}
func (h hanging) Tracef(string, ...any)  {}

// TestStuckWhileClosing: Close returns once it is known that NATS hangs, also if it has begun
// before.
func TestStuckWhileClosing(t *testing.T) {
	t.Parallel()
	s, _ := serveIn(t, t.TempDir())
	log := make(hanging)
	defer close(log)
	s.running().SetLogger(log, false, false)
	closed := make(chan bool)
	go func() {
		s.Close()
		close(closed)
	}()
	until(func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.closed
	})
	s.hang() // as watchJetStream does
	<-closed
}

// TestCopiesThatFail: a watch that ends, as a copy cannot be written, leaves nothing on the server.
func TestCopiesThatFail(t *testing.T) {
	t.Parallel()
	s, log := serveIn(t, t.TempDir())
	c, err := Connect(t.Context(), s.Client())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	js, err := jetstream.New(c.Conn)
	if err != nil {
		t.Fatal(err)
	}
	bucket := c.StreamName(DirectoryName)
	if err := os.MkdirAll(filepath.Join(s.folder(bucket), "bad", "x"), 0o777); err != nil { // a folder that no file replaces
		t.Fatal(err)
	}
	kv, err := js.CreateKeyValue(testutil.Context(t), jetstream.KeyValueConfig{Bucket: bucket})
	if err != nil {
		t.Fatal(err)
	}
	ctx := testutil.Context(t)
	for i := 0; log.Count("no copies are kept of a directory") < 5; i++ {
		if _, err := kv.Put(ctx, "bad", fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
	until(func() bool {
		_, js, err := s.Stats()
		return err != nil || js.Consumers <= 1
	})
}
