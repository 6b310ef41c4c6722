package hub

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/attn-go/attn/kernel"
)

// A Server is a NATS server with JetStream in this process. While its disk is full, streams
// take no message. When there is room again it starts anew on the same port, as NATS refuses
// to write a stream for good once that has failed; connections come back by themselves.
type Server struct {
	config ServerConfig
	store  *store        // nil if it could not be opened
	full   chan struct{} // gets an element when the disk is full
	done   chan struct{} // closed when the server has ended
	stuck  chan struct{} // closed when JetStream does not answer
	own    nats.Option   // the user of its own connection, if others have users

	copies  sync.Mutex     // held while one is written, or removed for what is in it
	copying sync.WaitGroup // for the goroutine that writes them until the server has ended

	starting sync.Mutex // held by restart: NATS that is ended before it has started starts all the same

	mu         sync.Mutex
	server     *server.Server
	closed     bool
	noRoom     bool  // the disk is full
	err        error // why it ended by itself
	closeStore sync.Once
}

// Serve starts a server. It ends when ctx ends or [Server.Close] is called. The error is a
// [*kernel.Error], also of the kind [ErrAnonymous], [ErrLocked] or [ErrStuck], or comes from NATS,
// such as for a port that is in use.
func Serve(ctx context.Context, c ServerConfig) (*Server, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	s := &Server{config: c, full: make(chan struct{}, 1), done: make(chan struct{}), stuck: make(chan struct{})}
	options, err := s.options()
	if err == nil && c.keepsCopies() {
		err = s.check(options)
	}
	if err == nil {
		err = s.start(ctx, options)
	}
	switch {
	case errors.Is(err, errFiles) && c.Cluster != "":
		err = s.startEmpty(ctx, options, err)
	case errors.Is(err, errNotStarted) && !s.shutdown():
		s.hang()
	}
	if err != nil {
		close(s.done)
		s.Close()
		return nil, err
	}
	go s.watch(options)
	context.AfterFunc(ctx, s.Close)
	return s, nil
}

// errNotStarted reports a server that ended by itself or hangs, and errFiles one whose JetStream
// cannot read its files.
var (
	errNotStarted = errors.New("hub: the server does not listen")
	errFiles      = errors.New("hub: JetStream cannot open its files")
)

// startEmpty starts a server of three whose JetStream could not read its files: they are set aside,
// and the others give it what they have. One that hangs does not end, and may take the time of a
// CPU: its process has to start anew.
func (s *Server) startEmpty(ctx context.Context, options *server.Options, why error) error {
	ended := s.shutdown()
	aside, err := s.setAside("jetstream")
	if err != nil || aside == "" {
		return errors.Join(why, err)
	}
	s.config.Log.Error("JetStream cannot open its files; they are set aside, and the other servers give what they have", "folder", aside, "error", why)
	if !ended {
		s.hang()
		return ErrStuck
	}
	return s.start(ctx, options)
}

// shutdown ends a server that has not started, and tells whether it has ended: NATS may hang.
func (s *Server) shutdown() bool {
	ended := make(chan struct{})
	go func() {
		s.running().Shutdown()
		close(ended)
	}()
	select {
	case <-ended:
		return true
	case <-time.After(startTime / 6):
		return false
	}
}

// startTime is how long a server may take to read its streams and to listen.
const startTime = time.Minute

func (s *Server) start(ctx context.Context, options *server.Options) error {
	if err := tryPorts(options); err != nil {
		return err
	}
	srv, err := server.NewServer(options)
	if err != nil {
		return fmt.Errorf("hub: %w", err)
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return context.Canceled
	}
	s.server = srv
	s.mu.Unlock()
	log := s.newLog()
	srv.SetLogger(log, false, false)
	started := make(chan struct{})
	go func() { // which does not come back if NATS hangs
		srv.Start()
		close(started)
	}()
	for end, over := time.Now().Add(startTime), false; !srv.ReadyForConnections(100 * time.Millisecond); {
		if err := ctx.Err(); err != nil {
			return err
		}
		select {
		case err := <-log.fatal:
			return err
		default:
		}
		if over || time.Now().After(end) {
			return fmt.Errorf("%w on %s; its files are as they were", errNotStarted, net.JoinHostPort(options.Host, fmt.Sprint(options.Port)))
		}
		select {
		case <-started:
			over = !srv.ReadyForConnections(startTime / 6)
		default:
		}
	}
	if s.config.keepsCopies() {
		s.copying.Go(func() { s.keepCopies(srv) })
	}
	return nil
}

// tryPorts tries whether a server can listen, as NATS only logs that it cannot.
func tryPorts(o *server.Options) error {
	ports := []int{max(o.Port, 0)}
	if o.Cluster.Name != "" {
		ports = append(ports, o.Cluster.Port)
	}
	for _, port := range ports {
		l, err := net.Listen("tcp", net.JoinHostPort(o.Host, fmt.Sprint(port)))
		if err != nil {
			return fmt.Errorf("hub: %w", err)
		}
		defer l.Close() // so that the two are not the same
	}
	return nil
}

// options translates the configuration.
func (s *Server) options() (*server.Options, error) {
	c := &s.config
	var err error
	if s.store, err = openStore(c.StoreDir); err != nil {
		return nil, err
	}
	o := &server.Options{
		ServerName:         cmp.Or(c.Name, "attn"),
		Host:               c.host(),
		Port:               cmp.Or(c.Port, server.DEFAULT_PORT),
		NoSigs:             true,
		NoLog:              true, // see newLog
		JetStream:          true,
		StoreDir:           s.store.dir,
		SyncAlways:         c.SyncAlways,
		PingInterval:       pingEvery,
		MaxPingsOut:        pings,
		MaxPayload:         int32(cmp.Or(c.MaxPayload, DefaultMaxPayload)),
		MaxConn:            cmp.Or(c.MaxConnections, DefaultMaxConnections),
		JetStreamMaxMemory: cmp.Or(c.MaxMemory, DefaultMaxMemory),
		JetStreamMaxStore:  cmp.Or(c.MaxStore, DefaultMaxStore),
	}
	if err := c.users(o); err != nil {
		return nil, err
	}
	if err := c.tls(o); err != nil {
		return nil, err
	}
	s.ownUser(o)
	return o, c.cluster(o)
}

// users sets who may connect.
func (c *ServerConfig) users(o *server.Options) error {
	if c.UsersFile == "" {
		return nil
	}
	x, err := server.ProcessConfigFile(c.UsersFile)
	if err != nil {
		return fmt.Errorf("hub: %w", err)
	}
	if len(x.Nkeys)+len(x.Users) == 0 {
		return &kernel.Error{Where: "hub: UsersFile", Got: fmt.Sprintf("%q without users", c.UsersFile), Want: "an authorization with users"}
	}
	o.Nkeys, o.Users = x.Nkeys, x.Users
	return nil
}

// tls sets the server's certificate. With a CA, clients need certificates too.
func (c *ServerConfig) tls(o *server.Options) error {
	if c.CertFile == "" {
		return nil
	}
	if err := checkCertificate(c.CertFile, c.KeyFile); err != nil {
		return fmt.Errorf("hub: %w", err)
	}
	config, err := server.GenTLSConfig(&server.TLSConfigOpts{
		CertFile: c.CertFile, KeyFile: c.KeyFile, CaFile: c.CAFile, Verify: c.CAFile != "",
	})
	if err != nil {
		return fmt.Errorf("hub: %s: %w", c.CAFile, err)
	}
	config.MinVersion = tls.VersionTLS12
	o.TLS, o.TLSVerify, o.TLSConfig, o.TLSTimeout = true, c.CAFile != "", config, 5
	return nil
}

// routeUser is the name by which servers of a cluster know each other, with RoutePasswordFile.
const routeUser = "route"

// cluster sets how the server finds the others of its cluster.
func (c *ServerConfig) cluster(o *server.Options) error {
	if c.Cluster == "" {
		return nil
	}
	x := &o.Cluster
	x.Name, x.Host, x.Port = c.Cluster, c.host(), cmp.Or(c.ClusterPort, 6222)
	var user *url.Userinfo
	if c.RoutePasswordFile != "" {
		password, err := readLine(c.RoutePasswordFile)
		if err != nil {
			return err
		}
		x.Username, x.Password, user = routeUser, password, url.UserPassword(routeUser, password)
	}
	if o.TLSConfig != nil {
		x.TLSConfig, x.TLSTimeout = o.TLSConfig.Clone(), o.TLSTimeout
		x.TLSConfig.RootCAs = x.TLSConfig.ClientCAs
	}
	var err error
	o.Routes, err = c.routes()
	for _, route := range o.Routes {
		route.User = user
	}
	return err
}

// URL returns the address that clients on this machine connect to.
func (s *Server) URL() string { return s.running().ClientURL() }

// running returns the server that runs now, or ran last.
func (s *Server) running() *server.Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.server
}

// Close ends the server and waits for that. JetStream's files stay, unless they are
// temporary.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.starting.Lock() // until restart's server has started, or will not
	running := s.running()
	s.starting.Unlock()
	if running != nil {
		ended := make(chan struct{})
		go func() {
			running.Shutdown()
			running.WaitForShutdown()
			<-s.done
			s.copying.Wait()
			close(ended)
		}()
		select {
		case <-ended:
		case <-s.stuck: // NATS that hangs does not end
		}
	}
	if s.store != nil {
		s.closeStore.Do(s.store.close)
	}
}

// Done is closed when the server has ended.
func (s *Server) Done() <-chan struct{} { return s.done }

// isLoopback tells whether only this machine reaches an address.
func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
