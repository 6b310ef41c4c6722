// Package access says which subjects of NATS the roles of a cluster may use, and keeps the users of
// a server: NKeys with permissions, in the form of a NATS server's configuration.
package access

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/nats-io/nkeys"

	"github.com/attn-go/attn/cluster/hub"
)

// A Role is what a program does in a cluster.
type Role string

// The roles. Nobody but an admin hears what is said to others: each user gets answers on subjects
// with its own public key.
const (
	RoleReader Role = "reader" // computes attention over sequences of the directory, and asks for reports
	RoleWriter Role = "writer" // also changes sequences
	RoleWorker Role = "worker" // works for clients

	// RoleGateway hands requests on to workers, for clients of HTTP or to embed a corpus. Answers
	// come on subjects with the gateway's or the worker's own key.
	RoleGateway Role = "gateway"
	RoleAdmin   Role = "admin" // everything, such as to drop what another version has left
)

// Roles returns all roles.
func Roles() []Role { return []Role{RoleReader, RoleWriter, RoleWorker, RoleGateway, RoleAdmin} }

// Permissions are the subjects that a user may use, in the form of a NATS server's configuration. *
// stands for a token, and > for all that follow.
type Permissions struct {
	Publish   Subjects `json:"publish"`
	Subscribe Subjects `json:"subscribe"`
	Responses bool     `json:"allow_responses"` // one to each message that comes
}

// Subjects are the allowed subjects. All others are refused.
type Subjects struct {
	Allow []string `json:"allow"`
}

// A User of a server.
type User struct {
	NKey        string      `json:"nkey"` // public, U...
	Permissions Permissions `json:"permissions"`
}

// For returns the permissions of a role in the cluster of a prefix, for the owner of a public NKey.
func For(role Role, prefix, nkey string) (Permissions, error) {
	own := []string{hub.InboxOf(nkey) + ".>"}
	if role == RoleAdmin {
		all := Subjects{[]string{">"}}
		return Permissions{Publish: all, Subscribe: all}, nil
	}
	c := newCluster(prefix)
	p := Permissions{Subscribe: Subjects{own}, Responses: true}
	switch role {
	case RoleReader:
		p.Publish.Allow = c.read()
	case RoleWriter:
		p.Publish.Allow = append(c.read(), c.write()...)
		p.Subscribe.Allow = append(own, c.subject("held.*"))
	case RoleWorker:
		p.Publish.Allow = slices.Concat(c.read(), c.write(), c.share(), []string{"_INBOX.>"}) // it has to answer anybody
		p.Subscribe.Allow = append(own, c.subject("shard.*.*"), c.subject("relay.ask.*"), "$SRV.>")
	case RoleGateway:
		p.Publish.Allow = []string{"$SRV.>", "_INBOX.>", c.subject("relay.ask.*")}
		p.Subscribe.Allow = append(own, "$SRV.>")
	default:
		return p, fmt.Errorf("access: role %q, want one of %v", role, Roles())
	}
	slices.Sort(p.Publish.Allow)
	p.Publish.Allow = slices.Compact(p.Publish.Allow)
	return p, nil
}

// cluster has the names that a cluster uses on its server.
type cluster struct {
	prefix    string
	directory string // stream
	keys      string // of the directory
	pages     string // object store of prompt caches
}

func newCluster(prefix string) cluster {
	name := func(x string) string { return hub.StreamName(prefix, x) }
	return cluster{prefix, "KV_" + name("sequences"), "$KV." + name("sequences") + ".>", name(hub.PagesName)}
}

func (c *cluster) subject(rest string) string { return c.prefix + "." + rest }

// read is what a reader may say: to look for workers, to ask them, and to read the directory.
func (c *cluster) read() []string {
	return []string{
		"$SRV.>", c.subject("shard.*.attend"), c.subject("shard.*.report"), c.subject("shard.*.ping"), c.subject("held.*"),
		"$JS.API.STREAM.INFO." + c.directory,
		"$JS.API.DIRECT.GET." + c.directory + ".>", "$JS.API.DIRECT.GET." + c.directory, "$JS.API.STREAM.MSG.GET." + c.directory,
		"$JS.API.CONSUMER.CREATE." + c.directory + ".>", "$JS.API.CONSUMER.DELETE." + c.directory + ".*", "$JS.API.CONSUMER.INFO." + c.directory + ".*", "$JS.FC." + c.directory + ".>",
	}
}

// write is what a writer may say too: to change sequences and the directory.
func (c *cluster) write() []string {
	return []string{
		"$JS.API.INFO", c.subject("shard.*.put"), c.subject("shard.*.send"), c.subject("shard.*.free"), c.keys,
		"$JS.API.STREAM.CREATE." + c.directory,
	}
}

// share is what a worker may say for a prompt cache that workers share.
func (c *cluster) share() []string {
	stream := "OBJ_" + c.pages
	return []string{
		"$JS.API.STREAM.INFO." + stream, "$JS.API.STREAM.CREATE." + stream, "$JS.API.STREAM.PURGE." + stream,
		"$JS.API.DIRECT.GET." + stream + ".>", "$JS.API.DIRECT.GET." + stream, "$O." + c.pages + ".>",
	}
}

// users is the content of the file of users.
type users struct {
	Authorization struct {
		Users []User `json:"users"`
	} `json:"authorization"`
}

// Names of files in a folder of keys.
const (
	UsersFile = "users.conf" // for servers
	seedEnd   = ".nk"        // a user's secret, NAME.nk
)

// SeedFile returns the name of the file in dir with the secret of a user.
func SeedFile(dir, name string) string { return filepath.Join(dir, name+seedEnd) }

// Add makes an NKey for a user, writes its seed into SeedFile, which must not be there, and adds
// the user to the file of users. After an error both are as before. It refuses a file of users with
// anything that Add does not write.
func Add(dir, prefix, name string, role Role) error {
	if err := checkName(name); err != nil {
		return err
	}
	pair, err := nkeys.CreateUser()
	if err != nil {
		return err
	}
	defer pair.Wipe()
	public, err := pair.PublicKey()
	if err != nil {
		return err
	}
	p, err := For(role, prefix, public)
	if err != nil {
		return err
	}
	x, err := read(dir)
	if err != nil {
		return err
	}
	seed, err := pair.Seed()
	if err != nil {
		return err
	}
	f, err := os.OpenFile(SeedFile(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("access: %w", err)
	}
	_, err = f.Write(append(seed, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		x.Authorization.Users = append(x.Authorization.Users, User{public, p})
		err = x.write(dir)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("access: %w", err), os.Remove(SeedFile(dir, name))) // nobody knows this user
	}
	return nil
}

func checkName(name string) error {
	if !hub.IsToken(name) {
		return fmt.Errorf("access: name %q, want 1 to 64 letters, digits, - and _", name)
	}
	return nil
}

// Remove takes a user out of the file of users, and removes the file with its seed.
func Remove(dir, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	public, err := hub.PublicKey(SeedFile(dir, name))
	if err != nil {
		return fmt.Errorf("access: %w", err)
	}
	x, err := read(dir)
	if err != nil {
		return err
	}
	x.Authorization.Users = slices.DeleteFunc(x.Authorization.Users, func(u User) bool { return u.NKey == public })
	if err := x.write(dir); err != nil {
		return fmt.Errorf("access: %w", err)
	}
	return os.Remove(SeedFile(dir, name))
}

// read reads the file of users, which need not be there. It refuses one with anything that write
// would not write again, such as passwords, as that would be lost.
func read(dir string) (*users, error) {
	path := filepath.Join(dir, UsersFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &users{}, nil
	}
	var x *users
	if err == nil {
		x, err = parse(data)
	}
	if err != nil {
		return nil, fmt.Errorf("access: %s: %w", path, err)
	}
	return x, nil
}

// parse parses a file of users.
func parse(data []byte) (*users, error) {
	x := &users{}
	if err := json.Unmarshal(data, x); err != nil {
		return nil, err
	}
	again, err := x.encode()
	if err != nil {
		return nil, err
	}
	var got, want bytes.Buffer
	if err := errors.Join(json.Compact(&got, data), json.Compact(&want, again)); err != nil {
		return nil, err
	}
	if !bytes.Equal(got.Bytes(), want.Bytes()) {
		return nil, errors.New("it has more than users with NKeys and subjects that are allowed, in the form in which this program writes them")
	}
	seen := map[string]bool{}
	for i, u := range x.Authorization.Users {
		if !nkeys.IsValidPublicUserKey(u.NKey) || seen[u.NKey] {
			return nil, fmt.Errorf("user %d has the key %q, want a public NKey of a user that no other one has", i, u.NKey)
		}
		seen[u.NKey] = true
	}
	return x, nil
}

// encode returns the content of the file of users.
func (x *users) encode() ([]byte, error) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false) // NATS reads no \u
	e.SetIndent("", "  ")
	err := e.Encode(x)
	return text.Bytes(), err
}

// write replaces the file of users.
func (x *users) write(dir string) error {
	text, err := x.encode()
	if err != nil {
		return err
	}
	path := filepath.Join(dir, UsersFile)
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
