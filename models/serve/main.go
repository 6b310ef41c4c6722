// Command serve answers HTTP requests with models, in the form of OpenAI's API. An answer does not depend
// on the load: the same request gets the same bytes alone and beside others.
//
//	go run ./models/serve -model SmolLM2-135M-Instruct -model all-MiniLM-L6-v2
//	curl -s 127.0.0.1:8080/v1/chat/completions -d '{"messages": [{"role": "user", "content": "Why is the sky blue?"}], "model": "SmolLM2-135M-Instruct"}'
package main

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
	"os"
	"time"

	"golang.org/x/net/netutil"

	"github.com/attn-go/attn/models/command"
	"github.com/attn-go/attn/models/server"
)

func main() {
	ctx, stop := command.Context()
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if errors.Is(err, context.Canceled) { // how a service ends
		err = nil
	}
	command.Exit("serve", err)
}

// run serves until ctx ends, and then as long as requests take to be answered.
func run(ctx context.Context, args []string, help, report io.Writer) error {
	c, err := parse(args, help)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	log := c.logger(report)
	c.settings.Logger = log
	handler, err := c.load(log)
	if err != nil {
		return err
	}
	l, err := c.listen()
	if err != nil {
		return err
	}
	log.Info("listening", "addr", l.Addr().String(), "tls", c.cert != "", "keys", len(c.settings.Keys))
	return c.serve(ctx, l, handler, log)
}

// load loads the models.
func (c *config) load(log *slog.Logger) (*server.Server, error) {
	var list []*server.Model
	for _, m := range c.models {
		begin := time.Now()
		o := c.options
		o.Name = m.name
		model, err := server.Load(m.path, o)
		if err != nil {
			return nil, fmt.Errorf("-model %s: %w", m.path, err)
		}
		log.Info("loaded", "model", model.Name(), "duration", time.Since(begin))
		list = append(list, model)
	}
	s, err := server.New(c.settings, list...)
	if err != nil {
		return nil, err
	}
	for _, m := range list {
		log.Info("serving", "model", m.Name(), "system_fingerprint", s.Fingerprint(m.Name()))
	}
	return s, nil
}

// listen opens the address.
func (c *config) listen() (net.Listener, error) {
	l, err := net.Listen("tcp", c.addr)
	if err != nil {
		return nil, err
	}
	l = netutil.LimitListener(l, c.connections)
	if c.cert == "" {
		return l, nil
	}
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		l.Close()
		return nil, fmt.Errorf("-tls-cert and -tls-key: %w", err)
	}
	return tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}), nil
}

// serve answers what comes until ctx ends. Then it takes no more, waits for what is open, and gives up what
// is left after c.shutdown.
func (c *config) serve(ctx context.Context, l net.Listener, handler *server.Server, log *slog.Logger) error {
	s := &http.Server{
		Handler: handler, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
	}
	failed := make(chan error, 1)
	go func() { failed <- s.Serve(l) }()
	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	log.Info("shutting down", "cause", err, "within", c.shutdown)
	limit, cancel := context.WithTimeout(context.Background(), c.shutdown)
	defer cancel()
	if late := handler.Close(limit); late != nil {
		log.Warn("requests were given up", "error", late)
	}
	// What has its answer is written; a client that does not read it is left.
	written, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if late := s.Shutdown(written); late != nil {
		s.Close()
	}
	return err
}
