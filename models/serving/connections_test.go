package serving

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/attn-go/attn/models/server"
)

// As many slow connections as there may be do not keep others from being answered, nor end those
// whose requests are answered. No time limit is set, so that they would for ever.
func TestSlowConnections(t *testing.T) {
	const most = 40
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	begun, goOn := make(chan struct{}), make(chan struct{})
	s := &http.Server{ConnContext: withConnection, ConnState: noteIdle, Handler: noting(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/refused" {
			refusing(w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if r.URL.Path == "/wait" {
			begun <- struct{}{}
			<-goOn
		}
		fmt.Fprintf(w, "%s %s", r.URL.Path, body)
	}))}
	go s.Serve(limitConnections(l, most))
	defer s.Close()
	url := "http://" + l.Addr().String()
	ask := func(path string) (string, error) {
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		r, err := client.Post(url+path, "text/plain", strings.NewReader("body"))
		if err != nil {
			return "", err
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		return string(text), err
	}
	waited := make(chan error, 1)
	go func() {
		text, err := ask("/wait")
		if err == nil && text != "/wait body" {
			err = fmt.Errorf("%q", text)
		}
		waited <- err
	}()
	<-begun
	begins := []string{ // nothing, a part of the header, a part of the body, and of one that nobody reads
		"", "POST / HTTP/1.1\r\nHo", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nab",
		"POST /refused HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nab",
	}
	for i := range len(begins) * most {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		io.WriteString(c, begins[i%len(begins)])
	}
	for range 3 {
		if text, err := ask("/quick"); err != nil || text != "/quick body" {
			t.Fatalf("%q, %v", text, err)
		}
	}
	close(goOn)
	if err := <-waited; err != nil {
		t.Error(err)
	}
}

// While all connections have requests that are being answered, one more waits for any of them.
func TestBusyConnections(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	begun, goOn := make(chan string, 3), make(chan struct{})
	s := &http.Server{ConnContext: withConnection, ConnState: noteIdle, Handler: noting(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun <- r.URL.Path
		<-goOn
	}))}
	go s.Serve(limitConnections(l, 2))
	defer s.Close()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	done := make(chan error, 3)
	for i := range 3 {
		go func() {
			r, err := client.Get(fmt.Sprintf("http://%s/%d", l.Addr(), i))
			if err == nil {
				r.Body.Close()
			}
			done <- err
		}()
		if i < 2 {
			<-begun
		}
	}
	close(goOn)
	for range 3 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// pipes is a listener of connections in memory.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}
func (p pipes) Close() error   { close(p); return nil }
func (p pipes) Addr() net.Addr { return &net.UnixAddr{} }

// refusing answers without a look at the body.
var refusing = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	http.Error(w, "no", http.StatusUnauthorized)
})

// A connection does not end for another one while its answer is being written, and the server waits
// for that, also if the handler has not read the body.
func TestUnreadAnswer(t *testing.T) {
	const long = mostSkipped + 1
	for name, request := range map[string]string{
		"no body":   "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"body":      "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc",
		"long body": fmt.Sprintf("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", 3*long, strings.Repeat("x", long)),
		"no end":    fmt.Sprintf("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", long, strings.Repeat("x", long)),
		"later":     "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { testUnreadAnswer(t, request) }) })
	}
}

func testUnreadAnswer(t *testing.T, request string) {
	l := make(pipes)
	s := &http.Server{ConnContext: withConnection, ConnState: noteIdle, Handler: noting(refusing)}
	open := limitConnections(l, 1)
	go s.Serve(open)
	defer func() { s.Close(); time.Sleep(time.Second) }() // net/http ends connections somewhat later
	var clients []net.Conn
	for range 2 {
		client, server := net.Pipe()
		defer client.Close()
		l <- server
		clients = append(clients, client)
		if len(clients) == 1 {
			go io.WriteString(client, request)
		}
		synctest.Wait() // the handler has returned, and then the second connection waits
	}
	ctx, cancel := context.WithCancel(t.Context())
	unread, all := make(chan bool), make(chan bool)
	go func() { open.written(ctx); close(unread) }()
	go func() { open.written(t.Context()); close(all) }()
	synctest.Wait()
	cancel()
	<-unread
	select {
	case <-all:
		t.Error("an answer that is not read is written")
	default:
	}
	expectRefused(t, clients[0])
	<-all
	io.WriteString(clients[1], "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	expectRefused(t, clients[1])
}

// expectRefused reads a whole answer of refusing.
func expectRefused(t *testing.T, client io.Reader) {
	t.Helper()
	answer, err := http.ReadResponse(bufio.NewReader(client), nil)
	if err != nil {
		t.Error(err)
		return
	}
	if body, err := io.ReadAll(answer.Body); err != nil || string(body) != "no\n" || answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("%q of status %d, %v", body, answer.StatusCode, err)
	}
}

// A client that sends requests and reads no answers does not keep a server from its end for longer
// than a second after what -shutdown says. Connections that wait for requests end at once.
func TestShutdown(t *testing.T) {
	for _, within := range []time.Duration{0, 2 * time.Second, time.Minute} {
		t.Run(within.String(), func(t *testing.T) { synctest.Test(t, func(t *testing.T) { testShutdown(t, within) }) })
	}
}

func testShutdown(t *testing.T, within time.Duration) {
	handler, err := server.NewGateway(server.Settings{WriteTimeout: time.Hour}, ready{})
	if err != nil {
		t.Fatal(err)
	}
	l := make(pipes)
	w := &Web{Shutdown: within, open: limitConnections(l, 9)}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Serve(ctx, w.open, handler, slog.New(slog.DiscardHandler)) }()
	dial := func() net.Conn {
		client, server := net.Pipe()
		l <- server
		return client
	}
	const request = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
	unread, idle, slow := dial(), dial(), dial()
	go io.WriteString(unread, strings.Repeat(request, 3))
	io.WriteString(slow, "GET /")
	io.WriteString(idle, request)
	answers := bufio.NewReader(idle)
	if answer, err := http.ReadResponse(answers, nil); err != nil {
		t.Fatal(err)
	} else if _, err := io.ReadAll(answer.Body); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	begin := time.Now()
	stop()
	if _, err := answers.ReadByte(); err != io.EOF {
		t.Error(err)
	}
	if took := time.Since(begin); took > 0 {
		t.Errorf("an idle connection ended after %v", took)
	}
	if err := <-done; err != context.Canceled {
		t.Error(err)
	}
	if took := time.Since(begin); took > min(within, writeTime)+time.Second {
		t.Errorf("it ended after %v", took)
	}
	synctest.Wait()
	if _, open := <-l; open || len(w.open.open) > 0 {
		t.Errorf("%d connections are open", len(w.open.open))
	}
}

// ready is a backend that is ready, and asked for nothing.
type ready struct{ server.Backend }

func (ready) Ready() error { return nil }
