//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/internal/testutil"
	"github.com/attn-go/attn/cluster/shard"
)

// freePorts returns ports on which nobody listens, and which no other test gets.
func freePorts(n int) (ports []string) {
	for range n {
		ports = append(ports, fmt.Sprint(testutil.FreePort()))
	}
	return ports
}

// A copy of the folder of a server that has ended has all that the server had.
func TestBackup(t *testing.T) {
	t.Parallel()
	store, backup := filepath.Join(t.TempDir(), "store"), filepath.Join(t.TempDir(), "backup")
	serve := func(dir string) (*process, *hub.Conn) {
		server, line := startProcess(t, "listening on", "serve", "-port", "-1", "-store", dir)
		conn, err := hub.Connect(t.Context(), hub.Config{URL: line[strings.Index(line, "nats://"):], Wait: -1})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(conn.Close)
		return server, conn
	}
	server, conn := serve(store)
	worker, err := shard.NewWorker(conn, shard.WorkerConfig{Name: "a"})
	if err != nil {
		t.Fatal(err)
	}
	client, err := newClient(t.Context(), conn, shard.Config{Heads: 1, HeadSize: 2, Timeout: callTimeout}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Create(t.Context(), "text"); err != nil {
		t.Fatal(err)
	}
	worker.Close()
	server.interrupt(t)
	if out, err := exec.Command("cp", "-a", store, backup).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.RemoveAll(store); err != nil {
		t.Fatal(err)
	}
	_, conn = serve(backup)
	if all := list(t, conn); len(all) != 1 || all[0].Name != "text" || all[0].Err != nil {
		t.Errorf("%+v", all)
	}
}
