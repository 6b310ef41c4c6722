//go:build unix

package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/shard"
)

// nextPort is the port that freePorts tries next. They are below those that systems give to programs that want any.
var nextPort atomic.Int64

// freePorts returns ports on which nobody listens, and which no other test gets.
func freePorts(t testing.TB, n int) (ports []string) {
	t.Helper()
	nextPort.CompareAndSwap(0, 12000+int64(os.Getpid()%18000)) // another run of the tests begins elsewhere
	for len(ports) < n {
		port := fmt.Sprint(nextPort.Add(1))
		if l, err := net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			l.Close()
			ports = append(ports, port)
		}
	}
	return ports
}

// A copy of the folder of a server that has ended has all that the server had.
func TestBackup(t *testing.T) {
	t.Parallel()
	store, backup := filepath.Join(t.TempDir(), "store"), filepath.Join(t.TempDir(), "backup")
	serve := func(dir string) (*process, *hub.Conn) {
		server, line := startProcess(t, "listening on", "serve", "-port", "-1", "-store", dir)
		conn, err := hub.Connect(t.Context(), hub.Config{URL: line[strings.Index(line, "nats://"):]})
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
	client, err := shard.New(t.Context(), conn, shard.Config{Heads: 1, HeadSize: 2})
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
	if all, err := shard.List(t.Context(), conn); err != nil || len(all) != 1 || all[0].Name != "text" || all[0].Err != nil {
		t.Errorf("%+v, %v", all, err)
	}
}
