package hub

import (
	"cmp"
	"flag"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/attn-go/attn/kernel"
)

// The limits of a server whose [ServerConfig] does not name others.
const (
	DefaultMaxPayload     = 1 << 20 // bytes of a message
	DefaultMaxConnections = 1024
	DefaultMaxMemory      = 256 << 20 // bytes of streams in memory
	DefaultMaxStore       = 16 << 30  // bytes of streams in files
)

// ServerConfig describes a server in this process. The zero value is one for this machine
// alone, on NATS's port, which keeps nothing when it ends.
type ServerConfig struct {
	Host string // address to listen on; "" is 127.0.0.1
	Port int    // 0 is 4222, -1 any that is free

	// StoreDir is the folder of JetStream's streams, which a later server can go on with, one at a
	// time. "" is a temporary folder, which is removed when the server ends.
	StoreDir   string
	SyncAlways bool // writes reach the disk before they are acknowledged

	MaxPayload     int   // bytes of a message, at most 64 MiB; 0 is DefaultMaxPayload
	MaxConnections int   // 0 is DefaultMaxConnections
	MaxMemory      int64 // bytes of streams in memory; 0 is DefaultMaxMemory
	MaxStore       int64 // bytes of streams in files; 0 is DefaultMaxStore

	// UsersFile names the users and their permissions, in the form of a NATS server's
	// configuration. Only its authorization is used. Without UsersFile everyone who reaches the
	// server may do everything.
	UsersFile string

	// Servers of one Cluster, of which each has a Name of its own, hold streams together: with
	// three of them one may fail. They find each other by Routes, the URLs of some of them, such as
	// nats://10.0.0.2:6222, and listen for each other on Host and ClusterPort. With
	// RoutePasswordFile they want the same password of each other. "" is a server alone.
	Cluster           string
	Name              string // "" is attn
	ClusterPort       int    // 0 is 6222
	Routes            []string
	RoutePasswordFile string

	// CertFile and KeyFile make connections encrypted. With CAFile, clients must have a
	// certificate that it signs.
	CAFile, CertFile, KeyFile string

	Log *slog.Logger // nil for none: what an operator is to do something about
}

// Flags defines the flags that set c. The values of c are the defaults.
func (c *ServerConfig) Flags(fs *flag.FlagSet) {
	fs.StringVar(&c.Host, "host", c.Host, "`address` to listen on; other machines need credentials (default 127.0.0.1)")
	fs.IntVar(&c.Port, "port", c.Port, "`port` to listen on; -1 means any free port (default 4222)")
	fs.StringVar(&c.StoreDir, "store", c.StoreDir, "`folder` of JetStream's streams (default a temporary one)")
	fs.BoolVar(&c.SyncAlways, "sync", c.SyncAlways, "write streams to disk before acknowledging messages")
	fs.IntVar(&c.MaxPayload, "max-payload", c.MaxPayload, "most `bytes` of a message (default 1 MiB)")
	fs.IntVar(&c.MaxConnections, "max-connections", c.MaxConnections, "most connections (default 1024)")
	fs.Int64Var(&c.MaxMemory, "max-memory", c.MaxMemory, "most `bytes` of streams in memory (default 256 MiB)")
	fs.Int64Var(&c.MaxStore, "max-store", c.MaxStore, "most `bytes` of streams in files (default 16 GiB)")
	fs.StringVar(&c.UsersFile, "users", c.UsersFile, "`file` of users with permissions, as cluster keys writes it")
	fs.StringVar(&c.Cluster, "cluster", c.Cluster, "`name` of the cluster of servers (default none: a lone server)")
	fs.StringVar(&c.Name, "name", c.Name, "`name` of this server, unique in the cluster (default attn)")
	fs.IntVar(&c.ClusterPort, "cluster-port", c.ClusterPort, "`port` to listen on for servers of the cluster (default 6222)")
	fs.Func("route", "`URL` of another server of the cluster, nats://HOST:PORT; may be repeated", func(u string) error {
		c.Routes = append(c.Routes, u)
		return nil
	})
	fs.StringVar(&c.RoutePasswordFile, "route-password-file", c.RoutePasswordFile, "`file` with the password that servers of the cluster share")
	tlsFlags(fs, &c.CAFile, &c.CertFile, &c.KeyFile)
}

func (c *ServerConfig) host() string { return cmp.Or(c.Host, "127.0.0.1") }

// check reports settings that do not fit each other.
func (c *ServerConfig) check() error {
	for _, limit := range []struct {
		field    string
		got, max int64
	}{
		{"MaxPayload", int64(c.MaxPayload), server.MAX_PAYLOAD_MAX_SIZE * 8},
		{"MaxConnections", int64(c.MaxConnections), 1 << 24},
		{"MaxMemory", c.MaxMemory, 1 << 62},
		{"MaxStore", c.MaxStore, 1 << 62},
	} {
		if limit.got < 0 || limit.got > limit.max {
			return &kernel.Error{Where: "hub: " + limit.field, Got: fmt.Sprint(limit.got), Want: fmt.Sprintf("0 to %d", limit.max)}
		}
	}
	switch {
	case c.Port < -1 || c.Port > 65535:
		return &kernel.Error{Where: "hub: Port", Got: fmt.Sprint(c.Port), Want: "-1 to 65535"}
	case (c.CertFile == "") != (c.KeyFile == ""):
		return &kernel.Error{Where: "hub: CertFile and KeyFile", Got: fmt.Sprintf("%q and %q", c.CertFile, c.KeyFile), Want: "both or none"}
	case c.CAFile != "" && c.CertFile == "":
		return &kernel.Error{Where: "hub: CAFile", Got: fmt.Sprintf("%q without CertFile", c.CAFile), Want: "a certificate for the server too"}
	case !isLoopback(c.host()) && c.UsersFile == "" && c.CAFile == "":
		return anonymous(c.host())
	}
	return c.checkCluster()
}

// checkCluster reports settings of a cluster of servers that do not fit each other.
func (c *ServerConfig) checkCluster() error {
	switch {
	case c.Cluster == "" && (len(c.Routes) > 0 || c.ClusterPort != 0 || c.RoutePasswordFile != ""):
		return &kernel.Error{Where: "hub: Cluster", Got: `"" with Routes, ClusterPort or RoutePasswordFile`, Want: "a name"}
	case c.Cluster == "":
		return nil
	case !IsToken(c.Cluster) || !IsToken(c.Name):
		return &kernel.Error{Where: "hub: Cluster and Name", Got: fmt.Sprintf("%q and %q", c.Cluster, c.Name), Want: "letters, digits, - and _"}
	case c.StoreDir == "":
		return &kernel.Error{Where: "hub: StoreDir", Got: `"" with a Cluster`, Want: "a folder, as a server that has lost its files counts as one that is there"}
	case c.ClusterPort < 0 || c.ClusterPort > 65535:
		return &kernel.Error{Where: "hub: ClusterPort", Got: fmt.Sprint(c.ClusterPort), Want: "0 to 65535"}
	case len(c.Routes) == 0:
		return &kernel.Error{Where: "hub: Routes", Got: "none with a Cluster", Want: "those to other servers of it"}
	case !isLoopback(c.host()) && c.RoutePasswordFile == "" && c.CAFile == "":
		return anonymous(c.host() + " for servers")
	}
	_, err := c.routes()
	return err
}

// routes returns Routes as URLs.
func (c *ServerConfig) routes() ([]*url.URL, error) {
	var routes []*url.URL
	for _, route := range c.Routes {
		u, err := url.Parse(route)
		if err != nil || u.Host == "" || u.User != nil {
			return nil, &kernel.Error{Where: "hub: Routes", Got: fmt.Sprintf("%q", route), Want: "nats://HOST:PORT"}
		}
		routes = append(routes, u)
	}
	return routes, nil
}

// Client returns the configuration with which programs on this machine connect to s, if it has no
// users.
func (s *Server) Client() Config { return Config{URL: s.URL(), Wait: time.Second} }
