package hub

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/bits"
	"net"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// Conn is a connection to a server, with the subjects of one cluster.
type Conn struct {
	*nats.Conn
	prefix string
}

const (
	defaultWait  = 5 * time.Second
	retryPause   = 100 * time.Millisecond
	longestPause = 5 * time.Second
)

// Connect connects to the server that c names. It tries again for c.Wait while no server answers,
// at least once; wrong credentials are an error at once. After that the connection comes back by
// itself whenever it is lost. An error is a [*kernel.Error], or it wraps an error of NATS or ctx.
func Connect(ctx context.Context, c Config) (*Conn, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	options, err := c.options()
	if err != nil {
		return nil, err
	}
	over, wait := ctx, cmp.Or(c.Wait, defaultWait)
	if wait > 0 {
		var cancel context.CancelFunc
		over, cancel = context.WithTimeout(ctx, wait)
		defer cancel()
	}
	pause := retryPause
	for tries := uint(1); ; tries++ {
		nc, err := nats.Connect(c.url(), options...)
		if err == nil {
			return &Conn{Conn: nc, prefix: c.prefix()}, nil
		}
		if !isAway(err) {
			return nil, fmt.Errorf("hub: %s: %w", c.url(), err)
		}
		if bits.OnesCount(tries) == 1 && c.Log != nil { // at once, and then ever more rarely
			c.Log.Warn("nats: no server answers yet", "server", c.url(), "error", err, "advice", c.Advice)
		}
		ended := Pause(over, pause)
		if ended != nil && (tries > 1 || ctx.Err() != nil) { // at first this program may have stood still
			return nil, fmt.Errorf("hub: %s: %w (%w)", c.url(), err, ended)
		}
		pause = min(2*pause, longestPause)
	}
}

// Pause waits for d, or until ctx ends. Then it returns the error of ctx.
func Pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
	return ctx.Err()
}

// isAway tells whether an error may pass, as no server answers. Something in between may end the
// connection for it. Or the server took so long that it asks whether the client lives, which NATS
// refuses before the answer. A server that refuses this side's certificate does answer.
func isAway(err error) bool {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "remote error" { // as package tls calls an alert
		return false
	}
	return errors.Is(err, nats.ErrNoServers) || errors.Is(err, nats.ErrTimeout) || errors.Is(err, io.EOF) || op != nil ||
		strings.Contains(err.Error(), "expected 'PONG', got 'PING'")
}

func (c *Config) url() string { return cmp.Or(c.URL, nats.DefaultURL) }

func (c *Config) prefix() string { return cmp.Or(c.Prefix, DefaultPrefix) }

// options returns the settings of the connection.
func (c *Config) options() ([]nats.Option, error) {
	options := []nats.Option{
		nats.Name(c.Name),
		nats.MaxReconnects(-1),
		nats.IgnoreAuthErrorAbort(), // a network that damages bytes can damage credentials
		nats.ReconnectWait(retryPause),
		nats.Timeout(2 * time.Second),
		nats.PingInterval(10 * time.Second), // a connection that is cut off silently is found after 3
		nats.MaxPingsOutstanding(2),
	}
	options = append(options, c.logOptions()...)
	if c.NKeySeedFile != "" {
		public, err := PublicKey(c.NKeySeedFile) // whose errors name the file
		if err != nil {
			return nil, err
		}
		nkey, err := nats.NkeyOptionFromSeed(c.NKeySeedFile)
		if err != nil {
			return nil, err
		}
		options = append(options, nkey, nats.CustomInboxPrefix(InboxOf(public)))
	}
	if c.CredsFile != "" {
		data, err := os.ReadFile(c.CredsFile)
		if err != nil {
			return nil, err
		}
		if _, err := nkeys.ParseDecoratedUserNKey(data); err != nil {
			return nil, fmt.Errorf("%s: %w", c.CredsFile, err)
		}
		options = append(options, nats.UserCredentials(c.CredsFile))
	}
	if c.CAFile != "" {
		options = append(options, nats.RootCAs(c.CAFile))
	}
	if c.CertFile != "" {
		if err := checkCertificate(c.CertFile, c.KeyFile); err != nil {
			return nil, err
		}
		options = append(options, nats.ClientCert(c.CertFile, c.KeyFile))
	}
	return options, nil
}

// checkCertificate returns an error that names the files if they are no certificate and its key.
func checkCertificate(cert, key string) error {
	if _, err := tls.LoadX509KeyPair(cert, key); err != nil {
		return fmt.Errorf("%s and %s: %w", cert, key, err)
	}
	return nil
}

// logOptions sends what the connection reports to c.Log, or nowhere: NATS would print it.
func (c *Config) logOptions() []nats.Option {
	log := cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return []nats.Option{
		nats.ErrorHandler(func(_ *nats.Conn, sub *nats.Subscription, err error) {
			subject := ""
			if sub != nil {
				subject = sub.Subject
			}
			log.Warn("nats", "error", err, "subject", subject)
			if refusal, listens := denied(err); refusal != nil && c.Denied != nil {
				c.Denied(refusal, listens)
			}
		}),
		nats.ClosedHandler(func(nc *nats.Conn) {
			if c.Closed != nil {
				c.Closed(nc.LastError())
			}
		}),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil { // otherwise the program has closed it
				log.Warn("nats: the connection is lost", "error", err)
			}
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) { log.Info("nats: the connection is back", "server", nc.ConnectedUrlRedacted()) }),
	}
}

// Flush waits until the server has the subscriptions of c, also if the connection is lost meanwhile
// and comes back within 10 s. Messages that were sent before such a loss may be lost without an
// error. If the server has refused a subscription, the error is of the kind [ErrPermission]: NATS
// does not tell the subscriber. Other errors come from NATS.
func (c *Conn) Flush() error {
	err := c.Conn.Flush()
	for errors.Is(err, nats.ErrConnectionClosed) && !c.IsClosed() { // so NATS calls one that is lost
		err = c.Conn.Flush()
	}
	if err != nil {
		return err
	}
	if refusal, listens := denied(c.LastError()); listens {
		return refusal
	}
	return nil
}

// Prefix returns the first tokens of all subjects of the cluster.
func (c *Conn) Prefix() string { return c.prefix }

// Replicas returns how many servers should hold what programs store: 3 if the server belongs to a
// cluster of NATS servers, and otherwise 1.
func (c *Conn) Replicas() int {
	if c.ConnectedClusterName() != "" {
		return 3
	}
	return 1
}

// Subject returns the subject of the cluster with the given tokens after the prefix.
func (c *Conn) Subject(tokens ...string) string {
	return c.prefix + "." + strings.Join(tokens, ".")
}

// PagesName ends the name of the object store of prompt caches, see [StreamName].
const PagesName = "pages"

// StreamName is [StreamName] with the prefix of the cluster.
func (c *Conn) StreamName(name string) string { return StreamName(c.prefix, name) }

// StreamName returns the name of a JetStream stream of the cluster with a prefix: the prefix and
// name, joined by _. A dot in the prefix, which such a name cannot have, becomes _d, and _ becomes
// _u, so that the streams of different prefixes have different names.
func StreamName(prefix, name string) string {
	return strings.NewReplacer(".", "_d", "_", "_u").Replace(prefix) + "_" + name
}
