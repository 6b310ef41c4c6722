//go:build unix

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/shard"
	"github.com/attn-go/attn/models/encoder/berttest"
)

// killLeaders has TestKillLeader run: servers wait for seconds until they elect another leader.
var killLeaders = flag.Bool("leaders", false, "run TestKillLeader, which takes a minute")

// servers are those of one cluster, in processes of their own, by name.
type servers struct {
	t       *testing.T
	running map[string]*process
	urls    string // of all
	js      jetstream.JetStream
	conn    *hub.Conn
}

// freePorts returns ports on which nobody listens.
func freePorts(t *testing.T, n int) (ports []string) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		_, port, _ := net.SplitHostPort(l.Addr().String())
		ports = append(ports, port)
	}
	return ports
}

// startServers starts three servers that want a password of each other, and waits until they have streams.
func startServers(t *testing.T) *servers {
	t.Helper()
	s := &servers{t: t, running: map[string]*process{}}
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("between servers\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ports := freePorts(t, 6)
	var urls []string
	for i := range 3 {
		name := fmt.Sprintf("n%d", i)
		args := []string{"serve", "-cluster", "attn", "-name", name, "-port", ports[i], "-cluster-port", ports[3+i], "-store", t.TempDir(), "-route-password-file", secret}
		for _, port := range ports[3:] {
			args = append(args, "-route", "nats://127.0.0.1:"+port)
		}
		s.running[name], _ = startProcess(t, "listening on", args...)
		urls = append(urls, "nats://127.0.0.1:"+ports[i])
	}
	s.urls = strings.Join(urls, ",")
	var err error
	if s.conn, err = hub.Connect(t.Context(), hub.Config{URL: s.urls}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.conn.Close)
	if s.js, err = jetstream.New(s.conn.Conn); err != nil {
		t.Fatal(err)
	}
	s.until(func(ctx context.Context) error { _, err := s.js.AccountInfo(ctx); return err })
	return s
}

// until tries something again until it succeeds.
func (s *servers) until(f func(ctx context.Context) error) {
	s.t.Helper()
	for {
		ctx, cancel := context.WithTimeout(s.t.Context(), 10*time.Second)
		err := f(ctx)
		cancel()
		if err == nil {
			return
		}
		if s.t.Context().Err() != nil {
			s.t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// killLeader kills the server that leads a stream, which three servers should have. kind is KV_ for a bucket's stream.
func (s *servers) killLeader(kind, stream string) {
	s.t.Helper()
	leader := ""
	s.until(func(ctx context.Context) error {
		x, err := s.js.Stream(ctx, kind+s.conn.StreamName(stream))
		if err != nil {
			return err
		}
		i := x.CachedInfo()
		if i.Config.Replicas != 3 {
			s.t.Errorf("%s has %d replicas", stream, i.Config.Replicas)
		}
		if i.Cluster == nil || s.running[i.Cluster.Leader] == nil {
			return errors.New("no leader")
		}
		leader = i.Cluster.Leader
		return nil
	})
	s.running[leader].kill()
	delete(s.running, leader)
}

// Of three servers the one that leads the directory is killed in mid-run. Nothing is lost.
func TestKillLeader(t *testing.T) {
	if !*killLeaders {
		t.Skip("NOT RUN without -leaders")
	}
	folder := t.TempDir()
	if err := berttest.New("").Write(folder, "F32"); err != nil {
		t.Fatal(err)
	}
	t.Run("directory", func(t *testing.T) {
		s := startServers(t)
		for _, name := range []string{"a", "b"} {
			startProcess(t, "waits for", "work", "-name", name, "-server", s.urls)
		}
		attend := func(context.Context) error {
			out, report, err := runCommand(t.Context(), "attend", "-server", s.urls, "-name", "s", "-keys", "600", "-tokens", "3")
			if err == nil && !strings.Contains(out, "the bits that one machine gives") {
				t.Errorf("%s%s", out, report)
			}
			return err
		}
		s.until(attend)
		s.killLeader("KV_", "sequences")
		s.until(attend)
		if out, _, err := runCommand(t.Context(), "sequences", "-server", s.urls); err != nil || !strings.Contains(out, "s-0: 606 keys") {
			t.Errorf("%v\n%s", err, out)
		}
	})
}

// A copy of the folder of a server that has ended has all that the server had.
func TestBackup(t *testing.T) {
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
