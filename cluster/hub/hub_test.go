package hub

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"github.com/attn-go/attn/cluster/internal/testutil"
	"github.com/attn-go/attn/kernel"
)

// serve starts a server on a free port of this machine.
func serve(t *testing.T, c ServerConfig) *Server {
	t.Helper()
	c.Port = -1
	s, err := Serve(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// echo sends a message through the server and back.
func echo(t *testing.T, c Config) error {
	t.Helper()
	nc, err := Connect(t.Context(), c)
	if err != nil {
		return err
	}
	defer nc.Close()
	sub, err := nc.SubscribeSync(nc.Subject("echo"))
	if err != nil {
		return err
	}
	if err := nc.Publish(nc.Subject("echo"), []byte("x")); err != nil {
		return err
	}
	_, err = sub.NextMsgWithContext(t.Context())
	return err
}

func TestConnect(t *testing.T) {
	s := serve(t, ServerConfig{})
	if err := echo(t, s.Client()); err != nil {
		t.Fatal(err)
	}
	nc, err := Connect(t.Context(), Config{URL: s.URL(), Prefix: "a.b"})
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if got := nc.Subject("x", "y") + " " + nc.StreamName("z"); got != "a.b.x.y a_db_z" {
		t.Error(got)
	}
}

// Streams of different prefixes have different names, also of those that differ in . and _ alone.
func TestStreamNames(t *testing.T) {
	prefixes := []string{"a", "a.b", "a_b", "a_db", "a_ub", "a_d.b", "a._b", "a_.b", "a__b", "a-b", "a_", "a_sequences"}
	owner := map[string]string{}
	for _, p := range prefixes {
		for _, name := range []string{"sequences", "embed_jobs"} {
			stream := StreamName(p, name)
			if other, taken := owner[stream]; taken || strings.ContainsAny(stream, ".*> /") {
				t.Errorf("prefix %q has stream %q, as has %q", p, stream, other)
			}
			owner[stream] = p
		}
	}
}

// A program may start before its server.
func TestConnectWaits(t *testing.T) {
	port := testutil.FreePort()
	done, waits := make(chan error), make(chan struct{})
	warned := sync.OnceFunc(func() { close(waits) })
	log := slog.New(slog.NewTextHandler(writerFunc(func(p []byte) (int, error) { warned(); return len(p), nil }), nil))
	go func() { done <- echo(t, Config{URL: fmt.Sprint("nats://127.0.0.1:", port), Wait: -1, Log: log}) }()
	<-waits
	s, err := Serve(t.Context(), ServerConfig{Port: port})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A program gives up after the time that it is to wait, but not after one try: it may have stood
// still meanwhile.
func TestConnectGivesUp(t *testing.T) {
	var log strings.Builder
	_, err := Connect(t.Context(), Config{URL: "nats://127.0.0.1:1", Wait: time.Nanosecond, Log: slog.New(slog.NewTextHandler(&log, nil)), Advice: "start one"})
	if !errors.Is(err, nats.ErrNoServers) || !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if strings.Count(log.String(), "no server answers yet") != 2 || !strings.Contains(log.String(), `advice="start one"`) {
		t.Errorf("the log has %q", &log)
	}
}

// Something that ends connections in place of a server that is away is no reason to give up, nor is
// a server so late that it asks first.
func TestConnectThroughProxy(t *testing.T) {
	for _, says := range []string{"", "INFO {}\r\nPING\r\n"} {
		testConnectThroughProxy(t, says)
	}
}

func testConnectThroughProxy(t *testing.T, says string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var tries atomic.Int64
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			tries.Add(1)
			if says != "" {
				io.WriteString(c, says)
				io.Copy(io.Discard, c) // until the client ends the connection
			}
			c.Close()
		}
	}()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := Connect(ctx, Config{URL: "nats://" + l.Addr().String(), Wait: -1})
		ended <- err
	}()
	for tries.Load() < 3 {
		select {
		case err := <-ended:
			t.Fatalf("it has given up: %v", err)
		case <-time.After(time.Millisecond):
		}
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestNKey(t *testing.T) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	public, _ := pair.PublicKey()
	seed, _ := pair.Seed()
	path := filepath.Join(t.TempDir(), "seed")
	if err := os.WriteFile(path, seed, 0o600); err != nil {
		t.Fatal(err)
	}
	users := filepath.Join(t.TempDir(), "users.conf")
	if err := os.WriteFile(users, fmt.Appendf(nil, "authorization: {users: [{nkey: %s}]}", public), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serve(t, ServerConfig{Host: "0.0.0.0", UsersFile: users})
	if err := echo(t, Config{URL: s.URL(), NKeySeedFile: path}); err != nil {
		t.Error(err)
	}
	if err := echo(t, Config{URL: s.URL()}); !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("without a key: %v", err)
	}
}

// With a CA, a server takes clients with a certificate and no others.
func TestTLS(t *testing.T) {
	cert, key := testutil.Certificate(t)
	s := serve(t, ServerConfig{CertFile: cert, KeyFile: key, CAFile: cert})
	if err := echo(t, Config{URL: s.URL(), CAFile: cert, CertFile: cert, KeyFile: key}); err != nil {
		t.Error(err)
	}
	for name, c := range map[string]Config{
		"no certificate of its own": {URL: s.URL(), CAFile: cert, Wait: -1}, // it does not wait for another answer
		"no CA":                     {URL: s.URL(), CertFile: cert, KeyFile: key, Wait: -1},
	} {
		if err := echo(t, c); err == nil {
			t.Errorf("%s: connected", name)
		}
	}
}

// A server that others reach asks who they are.
func TestAnonymous(t *testing.T) {
	for _, host := range []string{"0.0.0.0", "::", "192.0.2.1", "example.org"} {
		if _, err := Serve(t.Context(), ServerConfig{Host: host, Port: -1}); !errors.Is(err, ErrAnonymous) || !strings.Contains(err.Error(), host) {
			t.Errorf("%s: %v", host, err)
		}
	}
}

func TestConfigErrors(t *testing.T) {
	var e *kernel.Error
	for _, c := range []Config{
		{CredsFile: "u", NKeySeedFile: "f"}, {CertFile: "c"}, {Prefix: "a..b"}, {Prefix: "a.*"}, {Prefix: "a.shard"}, {Prefix: "a.b.relay.c"}, {Prefix: "ä"},
	} {
		if _, err := Connect(t.Context(), c); !errors.As(err, &e) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	for _, c := range []ServerConfig{
		{Port: -2}, {Port: 65536}, {MaxPayload: -1}, {MaxPayload: 65 << 20}, {MaxConnections: -1}, {MaxMemory: -1}, {MaxStore: -1},
		{KeyFile: "k"}, {CAFile: "c"},
	} {
		if _, err := Serve(t.Context(), c); !errors.As(err, &e) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// Streams in a folder outlive their server, and a temporary folder does not.
func TestStore(t *testing.T) {
	ctx := testutil.Context(t)
	dir := t.TempDir()
	for i := range 2 {
		s := serve(t, ServerConfig{StoreDir: dir})
		nc, err := Connect(t.Context(), s.Client())
		if err != nil {
			t.Fatal(err)
		}
		js, err := jetstream.New(nc.Conn)
		if err != nil {
			t.Fatal(err)
		}
		stream, err := js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: nc.StreamName("s"), Subjects: []string{nc.Subject("s")}})
		if err != nil {
			t.Fatal(err)
		}
		if got := stream.CachedInfo().State.Msgs; got != uint64(i) {
			t.Errorf("%d messages in stream, want %d", got, i)
		}
		if _, err := js.Publish(ctx, nc.Subject("s"), nil); err != nil {
			t.Fatal(err)
		}
		nc.Close()
		s.Close()
	}
	s := serve(t, ServerConfig{})
	temp := s.store.dir
	s.Close()
	if _, err := os.Stat(temp); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func TestVersion(t *testing.T) {
	var msg nats.Msg
	Seal(&msg, "")
	if err := CheckSeal(msg.Header, nil, "", "x"); err != nil {
		t.Error(err)
	}
	other := Version{Wire, kernel.Contract + 1}
	for text, want := range map[string]Version{
		Own.String(): Own, other.String(): other, "": {}, "1": {}, "1.2.3": {}, "01.2": {}, " 1.2": {}, "1.2 ": {}, "a.b": {},
	} {
		if got := ParseVersion(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	if err := other.Check("x"); !errors.Is(err, ErrVersion) || err.Error() != fmt.Sprintf("hub: x: version %v, want %v (wire format.numeric contract)", other, Own) {
		t.Error(err)
	}
	if err := CheckSeal(nil, nil, "", "x"); !errors.Is(err, ErrVersion) {
		t.Error(err)
	}
}

func TestPortInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s, err := Serve(t.Context(), ServerConfig{Port: l.Addr().(*net.TCPAddr).Port})
	if err == nil {
		s.Close()
	}
	if e := (*net.OpError)(nil); !errors.As(err, &e) { // and not a server's that never got ready
		t.Errorf("two servers on one port: %v", err)
	}
}

// What NATS reports of a connection goes to the caller's log, and nowhere else.
func TestLog(t *testing.T) {
	s := serve(t, ServerConfig{})
	var mu sync.Mutex
	var log strings.Builder
	c := s.Client()
	c.Log = slog.New(slog.NewTextHandler(writerFunc(func(p []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return log.Write(p)
	}), nil))
	for _, c := range []Config{c, s.Client()} {
		nc, err := Connect(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		nc.ErrorHandler()(nc.Conn, &nats.Subscription{Subject: "x.y"}, nats.ErrSlowConsumer)
		nc.Close()
	}
	mu.Lock()
	defer mu.Unlock()
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "slow consumer") || !strings.Contains(got, "x.y") {
		t.Errorf("the log has %q", got)
	}
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// Both ends have the same flags for certificates.
func TestFlags(t *testing.T) {
	args := []string{"-tls-ca", "a", "-tls-cert", "c", "-tls-key", "k"}
	var client Config
	var server ServerConfig
	for _, define := range []func(*flag.FlagSet){client.Flags, server.Flags} {
		fs := flag.NewFlagSet("", flag.ContinueOnError)
		define(fs)
		if err := fs.Parse(args); err != nil {
			t.Fatal(err)
		}
	}
	want := [3]string{"a", "c", "k"}
	for _, got := range [][3]string{{client.CAFile, client.CertFile, client.KeyFile},
		{server.CAFile, server.CertFile, server.KeyFile}} {
		if got != want {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}
