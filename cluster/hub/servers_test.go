package hub

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/attn-go/attn/cluster/internal/testutil"
	"github.com/attn-go/attn/kernel"
)

// oneOfThree returns a server of three whose store has a file of JetStream's.
func oneOfThree(t *testing.T, name string) ServerConfig {
	t.Helper()
	c := ServerConfig{Port: -1, StoreDir: t.TempDir(), Cluster: "c", Name: "a", ClusterPort: testutil.FreePort(), Routes: []string{"nats://127.0.0.1:1"}, Log: slog.New(slog.DiscardHandler)}
	file := filepath.Join(c.StoreDir, "jetstream", name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte("bytes"), 0o600)); err != nil {
		t.Fatal(err)
	}
	return c
}

// asideOf returns the folders that were set aside.
func asideOf(c *ServerConfig) []string {
	aside, _ := filepath.Glob(filepath.Join(c.StoreDir, "damaged-*")) // the pattern is right
	return aside
}

// A server of three sets its files aside if JetStream cannot read them.
func TestDamagedMeta(t *testing.T) {
	c := oneOfThree(t, "$SYS/_js_/_meta_/snapshots/snap.9999.9999")
	s, err := Serve(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	if aside := asideOf(&c); len(aside) != 1 {
		t.Errorf("set aside: %q", aside)
	}
}

// A server of three that cannot start for another reason leaves its files as they are.
func TestHealthyFiles(t *testing.T) {
	c := oneOfThree(t, "keep")
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	c.ClusterPort = busy.Addr().(*net.TCPAddr).Port
	if _, err := Serve(t.Context(), c); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("a port that is in use: %v", err)
	}
	c.Routes = nil
	var e *kernel.Error
	if _, err := Serve(t.Context(), c); !errors.As(err, &e) || !strings.Contains(e.Where, "Routes") {
		t.Errorf("without routes: %v", err)
	}
	if aside := asideOf(&c); len(aside) > 0 {
		t.Errorf("set aside: %q", aside)
	}
	c = oneOfThree(t, "$SYS/_js_/_meta_/snapshots") // a file where a folder should be
	if _, err := Serve(t.Context(), c); !errors.Is(err, errNotStarted) || !strings.Contains(err.Error(), "JetStream") {
		t.Errorf("a file system that refuses: %v", err)
	}
	if aside := asideOf(&c); len(aside) > 0 {
		t.Errorf("set aside: %q", aside)
	}
}
