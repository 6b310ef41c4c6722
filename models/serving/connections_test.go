package serving

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
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
	for i := range 3 * most { // nothing, a part of the header, a part of the body
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		io.WriteString(c, []string{"", "POST / HTTP/1.1\r\nHo", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nab"}[i%3])
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

// A connection does not end for another one while its answer is being written, and the server waits
// for that.
func TestUnreadAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := make(pipes)
		s := &http.Server{ConnContext: withConnection, ConnState: noteIdle, Handler: noting(http.NotFoundHandler())}
		open := limitConnections(l, 1)
		go s.Serve(open)
		defer s.Close()
		var clients []net.Conn
		for range 2 {
			client, server := net.Pipe()
			defer client.Close()
			l <- server
			clients = append(clients, client)
			if len(clients) == 1 {
				io.WriteString(client, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
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
		if _, err := http.ReadResponse(bufio.NewReader(clients[0]), nil); err != nil {
			t.Error(err)
		}
		<-all
		io.WriteString(clients[1], "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		if _, err := http.ReadResponse(bufio.NewReader(clients[1]), nil); err != nil {
			t.Error(err)
		}
	})
}
