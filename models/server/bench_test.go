package server

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
)

// BenchmarkOverhead: what HTTP, JSON and the queue take. Embed is the model alone, which is tiny,
// HTTP a request for the same over the loopback interface, and Healthz one that needs no model.
// Both have Go's client, which runs on the same cores and takes as long as the server. Connection
// is HTTP without that client: a connection on which requests are written and answers read.
func BenchmarkOverhead(b *testing.B) {
	models := tinyModels(b, kernel.Exec{Threads: 1}, 16)
	b.Run("Embed", func(b *testing.B) {
		m := embedOf(models[1])
		o := m.Options()
		o.Exec.Threads = 1 // as the server's
		m = m.With(o)
		for b.Loop() {
			if _, err := m.Embed(b.Context(), []string{"the cat"}); err != nil {
				b.Fatal(err)
			}
		}
	})
	web := httptest.NewServer(serverOf(b, fixed(), models...))
	defer web.Close()
	read := func(b *testing.B, response *http.Response, err error) {
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, response.Body); err != nil || response.StatusCode != 200 {
			b.Fatal(err, response.StatusCode)
		}
		response.Body.Close()
	}
	b.Run("HTTP", func(b *testing.B) {
		for b.Loop() {
			response, err := http.Post(web.URL+"/v1/embeddings", "application/json", strings.NewReader(`{"model": "bert-1", "input": "the cat"}`))
			read(b, response, err)
		}
	})
	b.Run("Connection", func(b *testing.B) {
		address := web.Listener.Addr().String()
		conn, err := net.Dial("tcp", address)
		if err != nil {
			b.Fatal(err)
		}
		defer conn.Close()
		const body = `{"model": "bert-1", "input": "the cat"}`
		request := fmt.Appendf(nil, "POST /v1/embeddings HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", address, len(body), body)
		from := bufio.NewReader(conn)
		for b.Loop() {
			if _, err := conn.Write(request); err != nil {
				b.Fatal(err)
			}
			response, err := http.ReadResponse(from, nil)
			read(b, response, err)
		}
	})
	b.Run("Healthz", func(b *testing.B) {
		for b.Loop() {
			response, err := http.Get(web.URL + "/healthz")
			read(b, response, err)
		}
	})
}
