package serving

import (
	"context"
	"crypto/tls"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// connections is a listener that has some connections open at once. Where one more comes, the one
// that has been without a whole request for the longest ends, as many may send theirs byte by byte,
// or nothing. If all have requests that are being answered, one more waits.
type connections struct {
	net.Listener
	most int

	mu     sync.Mutex
	change sync.Cond
	open   map[*connection]uint64 // the number since which it lacks a request, 0 while one is answered
	next   uint64
	closed bool
}

// A connection belongs to connections.
type connection struct {
	net.Conn
	of *connections
}

func limitConnections(l net.Listener, most int) *connections {
	c := &connections{Listener: l, most: most, open: map[*connection]uint64{}}
	c.change.L = &c.mu
	return c
}

// Accept implements [net.Listener].
func (c *connections) Accept() (net.Conn, error) {
	inner, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	x := &connection{inner, c}
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.open) >= c.most && !c.closed {
		var slow *connection
		for y, since := range c.open {
			if since > 0 && (slow == nil || since < c.open[slow]) {
				slow = y
			}
		}
		if slow == nil {
			c.change.Wait()
			continue
		}
		delete(c.open, slow)
		slow.Conn.Close()
	}
	c.wants(x)
	return x, nil
}

// wants notes that a connection lacks a request. c.mu is held.
func (c *connections) wants(x *connection) {
	c.next++
	c.open[x] = c.next
	c.change.Broadcast()
}

// written waits until all answers are written, or ctx ends.
func (c *connections) written(ctx context.Context) {
	defer context.AfterFunc(ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.change.Broadcast()
	})()
	c.mu.Lock()
	defer c.mu.Unlock()
	for ctx.Err() == nil && slices.Contains(slices.Collect(maps.Values(c.open)), 0) {
		c.change.Wait()
	}
}

// Close implements [net.Listener].
func (c *connections) Close() error {
	c.mu.Lock()
	c.closed = true
	c.change.Broadcast()
	c.mu.Unlock()
	return c.Listener.Close()
}

// Close implements [net.Conn].
func (x *connection) Close() error {
	x.of.mu.Lock()
	delete(x.of.open, x)
	x.of.change.Broadcast()
	x.of.mu.Unlock()
	return x.Conn.Close()
}

// connectionKey is the key of a connection in the context of its requests.
type connectionKey struct{}

// withConnection is ConnContext of a server.
func withConnection(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, under(c))
}

// under returns the connection under TLS.
func under(c net.Conn) net.Conn {
	if t, ok := c.(*tls.Conn); ok {
		return t.NetConn()
	}
	return c
}

// noteIdle is ConnState of a server. A connection lacks a request again when the answer is written,
// which is after its handler has returned.
func noteIdle(c net.Conn, state http.ConnState) {
	if x, ok := under(c).(*connection); ok && state == http.StateIdle {
		x.answered()
	}
}

// noting returns a handler that notes which connections have whole requests.
func noting(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x, ok := r.Context().Value(connectionKey{}).(*connection)
		if !ok {
			next.ServeHTTP(w, r)
			return
		}
		b := &whole{ReadCloser: r.Body, of: x}
		if r.ContentLength == 0 {
			b.end()
		} else {
			r.Body = b
		}
		next.ServeHTTP(w, r)
		if !b.ended {
			b.skip(w, r.Header.Get("Expect") != "")
		}
	})
}

// answered notes that the connection lacks a request again.
func (x *connection) answered() {
	x.of.mu.Lock()
	defer x.of.mu.Unlock()
	if _, open := x.of.open[x]; open {
		x.of.wants(x)
	}
}

// whole is the body of a request, which is whole at its end.
type whole struct {
	io.ReadCloser
	of    *connection
	ended bool
}

// Read implements [io.Reader].
func (b *whole) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		b.end()
	}
	return n, err
}

// end notes that the request is whole.
func (b *whole) end() {
	b.ended = true
	c := b.of.of
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, open := c.open[b.of]; open {
		c.open[b.of] = 0
	}
}

// mostSkipped is how much net/http reads of a body that its handler has left.
const mostSkipped = 256 << 10

// skip reads what a handler has left of the body, while the connection may still end for another
// one. net/http would read it when the connection must stay open, as it is about to write the
// answer. If there is more, or the client waits until it is asked for the body, the connection ends
// with the answer, and net/http may read on for a second.
func (b *whole) skip(w http.ResponseWriter, waits bool) {
	var err error
	if !waits {
		_, err = io.CopyN(io.Discard, b, mostSkipped+1)
	}
	if err == nil {
		w.Header().Set("Connection", "close")
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(time.Second)) // only tests cannot
	}
	b.end()
}
