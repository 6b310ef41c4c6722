package hub

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A server whose folder takes no file is not ready until it does.
func TestReady(t *testing.T) {
	var log strings.Builder
	dir := filepath.Join(t.TempDir(), "store")
	s, err := Serve(t.Context(), ServerConfig{Port: -1, StoreDir: dir, MaxStore: 1 << 20, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	until := func(want error) {
		for !errors.Is(s.Ready(), want) { // go test ends a test that hangs
			time.Sleep(time.Millisecond)
		}
	}
	until(nil)
	if x, js, err := s.Stats(); err != nil || js.Config.MaxStore != 1<<20 || x.Connections > 1 {
		t.Errorf("%+v, %+v, %v", x, js, err)
	}
	away := dir + ".away"
	if err := os.Rename(dir, away); err != nil {
		t.Fatal(err)
	}
	s.full <- struct{}{} // what the server's log says of a full disk
	until(ErrNoRoom)
	if err := os.Rename(away, dir); err != nil {
		t.Fatal(err)
	}
	until(nil)
	s.Close()
	if got := log.String(); strings.Count(got, "the disk is full") != 1 || strings.Count(got, "has room again") != 1 || !strings.Contains(got, dir) {
		t.Errorf("the log has %q", got)
	}
	if s.Ready() == nil {
		t.Error("a server that has ended is ready")
	}
}

// What NATS says of an index that is older than its messages, as after a crash, is no warning.
func TestWarnings(t *testing.T) {
	for text, level := range map[string]string{
		"Filestore [KV_x] Stream state encountered internal inconsistency on recover":    "INFO",
		"Filestore [KV_x] Stream state outdated, found extra blocks, will rebuild":       "INFO",
		"Filestore [KV_x] Recovering stream state from index errored: prior state file":  "INFO",
		"Filestore [KV_x] Stream state checksum did not match":                           "WARN",
		"JetStream cluster no metadata leader, after an internal inconsistency of route": "WARN",
	} {
		var said strings.Builder
		(&serverLog{log: slog.New(slog.NewTextHandler(&said, nil))}).Warnf("%s", text)
		if !strings.Contains(said.String(), "level="+level) || !strings.Contains(said.String(), text) {
			t.Errorf("%s: %s", text, &said)
		}
	}
}
