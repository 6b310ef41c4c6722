// Package hub connects the programs of a cluster: connections to a NATS server with
// credentials, a server in the process, and the versions that both ends of a message must
// share.
package hub

import (
	"flag"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/attn-go/attn/kernel"
)

// DefaultPrefix begins the subjects of a cluster whose [Config] names no other prefix.
const DefaultPrefix = "attn"

// Config says which server a program connects to, as whom, and under which subjects.
// The zero value is the server on this machine's default port, without credentials.
type Config struct {
	URL  string // of one server or, separated by commas, of several; "" is nats://127.0.0.1:4222
	Name string // of the connection, as the server lists it

	// Prefix begins all subjects, so that several clusters can share a server: tokens of letters,
	// digits, - and _, separated by dots, of which only the first one may be held, relay or shard.
	// "" is [DefaultPrefix].
	Prefix string

	// Credentials, of which a server wants at most one kind.
	NKeySeedFile string // seed of an NKey, SU..., in one line
	CredsFile    string // JWT and seed, as nsc writes them

	// TLS. CAFile holds the certificates that sign the server's; Cert and Key are this
	// program's own. With any of them the connection must be encrypted.
	CAFile, CertFile, KeyFile string

	// Log, if not nil, gets a line about what happens to the connection by itself: that it is
	// lost or back, or that messages were dropped.
	Log *slog.Logger

	// Denied, if not nil, is called with an error of the kind [ErrPermission] when the server
	// refuses what the user may not do: to listen, or to send.
	Denied func(err error, listens bool)

	// Closed, if not nil, is called when the connection has ended for good, also by Close. The
	// error comes from NATS, or is nil.
	Closed func(err error)

	// Advice says in the log what to do while no server answers [Connect], such as how to start
	// one.
	Advice string

	// Wait is how long [Connect] waits for a server that does not answer yet. 0 means
	// 5 seconds, and a negative time that it waits until its context ends.
	Wait time.Duration
}

// Flags defines the flags that set c. The values of c are the defaults.
func (c *Config) Flags(fs *flag.FlagSet) {
	fs.StringVar(&c.URL, "server", c.URL, "`URL` of the NATS server, or several with commas (default nats://127.0.0.1:4222)")
	fs.StringVar(&c.Prefix, "prefix", c.Prefix, "first `tokens` of all subjects; clusters with different ones share a server (default "+DefaultPrefix+")")
	fs.StringVar(&c.NKeySeedFile, "nkey", c.NKeySeedFile, "`file` with the seed of an NKey")
	fs.StringVar(&c.CredsFile, "creds", c.CredsFile, "`file` with a user's JWT and seed, as nsc writes it")
	tlsFlags(fs, &c.CAFile, &c.CertFile, &c.KeyFile)
}

// tlsFlags defines the flags that both ends of a connection have.
func tlsFlags(fs *flag.FlagSet, ca, cert, key *string) {
	fs.StringVar(ca, "tls-ca", *ca, "`file` with the certificates that sign the other side's (PEM); a server that has one wants clients to have a certificate")
	fs.StringVar(cert, "tls-cert", *cert, "`file` with this side's certificate (PEM)")
	fs.StringVar(key, "tls-key", *key, "`file` with the key of -tls-cert (PEM)")
}

// check reports settings that do not fit each other.
func (c *Config) check() error {
	switch {
	case c.NKeySeedFile != "" && c.CredsFile != "":
		return &kernel.Error{Where: "hub: credentials", Got: "more than one kind", Want: "an NKey or a creds file"}
	case (c.CertFile == "") != (c.KeyFile == ""):
		return &kernel.Error{Where: "hub: CertFile and KeyFile", Got: fmt.Sprintf("%q and %q", c.CertFile, c.KeyFile), Want: "both or none"}
	}
	return checkPrefix(c.Prefix)
}

func checkPrefix(prefix string) error {
	if prefix == "" {
		return nil
	}
	for i, token := range strings.Split(prefix, ".") {
		if !IsToken(token) || i > 0 && slices.Contains(subjects, token) {
			return &kernel.Error{Where: "hub: Prefix", Got: fmt.Sprintf("%q", prefix), Want: fmt.Sprintf("tokens of letters, digits, - and _, separated by dots, after the first one none of %v", subjects)}
		}
	}
	return nil
}

// subjects are the tokens that follow a prefix. No prefix goes on with any of them: its subjects
// would be among a shorter prefix's.
var subjects = []string{"held", "relay", "shard"}

// IsPrefix tells whether s can begin the subjects of a cluster.
func IsPrefix(s string) bool { return s != "" && checkPrefix(s) == nil }

// IsToken tells whether s can be a token of a subject: 1 to 64 letters, digits, - and _.
func IsToken(s string) bool {
	for _, r := range s {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
		default:
			return false
		}
	}
	return len(s) >= 1 && len(s) <= 64
}

// PublicKey returns the public key of the NKey whose seed is in a file.
func PublicKey(seedFile string) (string, error) {
	seed, err := readLine(seedFile)
	if err != nil {
		return "", err
	}
	pair, err := nkeys.FromSeed([]byte(seed))
	if err != nil {
		return "", fmt.Errorf("%s: %w", seedFile, err)
	}
	defer pair.Wipe()
	return pair.PublicKey()
}

// InboxOf returns the first tokens of the subjects on which the owner of a public NKey gets
// answers. They have the key, so that a server can keep others from listening, see
// [ServerConfig].UsersFile.
func InboxOf(public string) string { return "_INBOX." + public }

// readLine returns the only line of a file.
func readLine(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	line := strings.TrimRight(string(text), "\r\n")
	if line == "" || strings.ContainsAny(line, "\r\n") {
		return "", fmt.Errorf("%s: want one line that is not empty", path)
	}
	return line, nil
}
