package serving

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/attn-go/attn/models/command"
	"github.com/attn-go/attn/models/server"
)

// Web is where a command listens, for whom, and what it logs.
type Web struct {
	Addr        string
	Cert, Key   string // files for TLS; "" for none
	Connections int    // that are open at once
	Shutdown    time.Duration
	LogJSON     bool

	tls  string       // what begins the names of the flags of TLS
	open *connections // of Listen
}

// Flags defines the flags that set w and the limits of s that concern no models. tls begins the
// names of the flags of TLS, for a command that has others of those names.
func (w *Web) Flags(fs *flag.FlagSet, s *server.Settings, tls string) {
	w.tls = tls
	fs.StringVar(&w.Addr, "addr", "127.0.0.1:8080", "`address` to listen at; port 0 means any free port")
	fs.Func("keys", "`file` of API keys, one a line, as KEY or NAME KEY; requests with the same NAME wait in one queue", func(path string) (err error) {
		s.Keys, err = readKeys(path)
		return err
	})
	fs.StringVar(&w.Cert, tls+"tls-cert", "", "PEM `file` of the certificates for HTTPS")
	fs.StringVar(&w.Key, tls+"tls-key", "", "PEM `file` of the private key for HTTPS")
	megabytes(fs, "body", &s.BodyBytes, 4, "of a request at most")
	megabytes(fs, "bodies", &s.BodiesBytes, 64, "of all requests in progress together at most")
	fs.IntVar(&s.Requests, "requests", 512, "most requests in progress at once; others get status 503")
	fs.IntVar(&w.Connections, "connections", 1024, "most open connections; a further one waits, or closes the one that has gone longest without a whole request")
	fs.Func("host", "host `name` besides localhost that requests to a server without keys may have; may be repeated", hosts(s))
	fs.Func("origins", "`origin` whose pages may call the server from a browser, such as https://chat.example, or * for all; may be repeated", func(origin string) error {
		s.Origins = append(s.Origins, origin)
		return nil
	})
	fs.DurationVar(&s.Timeout, "timeout", 10*time.Minute, "most time of a request, waiting included")
	fs.DurationVar(&s.BodyTimeout, "read-timeout", 30*time.Second, "most time for reading a request")
	fs.DurationVar(&s.WriteTimeout, "write-timeout", 30*time.Second, "most time for writing a part of an answer; a client that takes longer counts as gone")
	fs.DurationVar(&w.Shutdown, "shutdown", 30*time.Second, "time for open requests to finish, and their answers to be written, after SIGTERM; what sends no whole request has a second more")
	fs.BoolVar(&s.Pprof, "pprof", false, "serve profiles at /debug/pprof/ to anyone with a key")
	fs.BoolVar(&w.LogJSON, "log-json", false, "write the log as JSON lines")
}

// Check reports settings that do not fit each other, as a [command.UsageError]. Without keys it
// refuses to be open to a network.
func (w *Web) Check(s *server.Settings) error {
	switch {
	case (w.Cert == "") != (w.Key == ""):
		return command.Usage(fmt.Errorf("-%stls-cert and -%stls-key: got one of them, want both or none", w.tls, w.tls))
	case w.Connections < 1:
		return command.Usage(fmt.Errorf("-connections is %d, want 1 or more", w.Connections))
	case w.Shutdown < 0:
		return command.Usage(fmt.Errorf("-shutdown is %v, want 0 or more", w.Shutdown))
	case s.Requests < 1:
		return command.Usage(fmt.Errorf("-requests is %d, want 1 or more", s.Requests))
	}
	host, _, err := net.SplitHostPort(w.Addr)
	if err != nil {
		return command.Usage(fmt.Errorf("-addr: %w", err))
	}
	ip := net.ParseIP(host)
	if loopback := host == "localhost" || ip != nil && ip.IsLoopback(); !loopback && len(s.Keys) == 0 {
		return command.Usage(fmt.Errorf("-addr is %q, which others can reach: want -keys with it, or a loopback address", w.Addr))
	}
	return nil
}

// Log returns where the log goes.
func (w *Web) Log(to io.Writer) *slog.Logger {
	if w.LogJSON {
		return slog.New(slog.NewJSONHandler(to, nil))
	}
	return slog.New(slog.NewTextHandler(to, nil))
}

// Listen opens the address.
func (w *Web) Listen() (net.Listener, error) {
	l, err := net.Listen("tcp", w.Addr)
	if err != nil {
		return nil, err
	}
	w.open = limitConnections(l, w.Connections)
	l = w.open
	if w.Cert == "" {
		return l, nil
	}
	pair, err := tls.LoadX509KeyPair(w.Cert, w.Key)
	if err != nil {
		l.Close()
		return nil, fmt.Errorf("-%stls-cert and -%stls-key: %w", w.tls, w.tls, err)
	}
	return tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}), nil
}

// Serve answers what comes until ctx ends. Then it takes no more, waits until what is open is
// answered and the answers are written, and gives up what is left after w.Shutdown. Connections
// that lack a whole request have a second more. It closes l and handler, and returns the cause of
// ctx or an error of l.
func (w *Web) Serve(ctx context.Context, l net.Listener, handler *server.Server, log *slog.Logger) error {
	s := &http.Server{
		Handler: noting(handler), ConnContext: withConnection, ConnState: noteIdle, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
	}
	scheme := "http"
	if w.Cert != "" {
		scheme = "https"
	}
	log.Info("listening", "addr", l.Addr().String(), "url", scheme+"://"+l.Addr().String()+"/") // a browser gets a page there
	failed := make(chan error, 1)
	go func() { failed <- s.Serve(l) }()
	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	log.Info("shutting down", "cause", err, "within", w.Shutdown)
	limit, cancel := context.WithTimeout(context.Background(), w.Shutdown)
	defer cancel()
	late := handler.Close(limit)
	closing, stop := context.WithCancel(context.Background())
	defer stop()
	closed := make(chan error, 1)
	go func() { closed <- s.Shutdown(closing) }() // at once, so that nothing comes while answers are written
	if late != nil {
		log.Warn("requests were given up", "error", late)
	} else if w.open != nil {
		written, cancel := context.WithTimeout(limit, writeTime)
		defer cancel()
		w.open.written(written)
	}
	// What has its answer is written; a client that does not read it is left.
	defer time.AfterFunc(time.Second, stop).Stop()
	if <-closed != nil {
		s.Close()
	}
	return err
}

// writeTime is how long the ends of answers may take that are not written yet, if -shutdown leaves
// so much. On a busy machine the server itself takes some of it.
const writeTime = 10 * time.Second

// hosts reads the values of -host.
func hosts(s *server.Settings) func(string) error {
	return func(name string) error {
		if s.Hosts = append(s.Hosts, name); !isName(name) {
			return errors.New("want a name without a port")
		}
		return nil
	}
}
