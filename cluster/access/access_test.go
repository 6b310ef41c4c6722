package access

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"github.com/attn-go/attn/cluster/hub"
)

const key = "UABC" // stands for a public NKey

// For each subject, the roles that may send to it and those that may listen.
func TestPermissions(t *testing.T) {
	const (
		publish   = false
		subscribe = true
	)
	all := Roles()
	for _, c := range []struct {
		subject string
		listen  bool
		want    []Role
	}{
		// Attention.
		{"p.shard.a.attend", publish, []Role{RoleReader, RoleWriter, RoleWorker, RoleAdmin}},
		{"p.shard.a.report", publish, []Role{RoleReader, RoleWriter, RoleWorker, RoleAdmin}},
		{"p.shard.a.put", publish, []Role{RoleWriter, RoleWorker, RoleAdmin}},
		{"p.shard.a.free", publish, []Role{RoleWriter, RoleWorker, RoleAdmin}},
		{"p.shard.a.send", publish, []Role{RoleWriter, RoleWorker, RoleAdmin}},
		{"p.shard.a.put", subscribe, []Role{RoleWorker, RoleAdmin}},
		{"p.held.r", subscribe, []Role{RoleWriter, RoleAdmin}},
		{"$KV.p_sequences.s", publish, []Role{RoleWriter, RoleWorker, RoleAdmin}},
		{"$JS.API.DIRECT.GET.KV_p_sequences.$KV.p_sequences.s", publish, []Role{RoleReader, RoleWriter, RoleWorker, RoleAdmin}},
		{"$JS.API.STREAM.DELETE.KV_p_sequences", publish, []Role{RoleAdmin}},
		{"$JS.API.STREAM.PURGE.KV_p_sequences", publish, []Role{RoleAdmin}},
		{"$JS.API.STREAM.UPDATE.KV_p_sequences", publish, []Role{RoleAdmin}},

		// Prompt caches: texts can be told from pages, so that workers alone read them.
		{"$O.p_pages.C.x", publish, []Role{RoleWorker, RoleAdmin}},
		{"$JS.API.DIRECT.GET.OBJ_p_pages.$O.p_pages.M.x", publish, []Role{RoleWorker, RoleAdmin}},
		{"$JS.API.DIRECT.GET.OBJ_p_pages", publish, []Role{RoleWorker, RoleAdmin}},
		{"$JS.API.STREAM.PURGE.OBJ_p_pages", publish, []Role{RoleWorker, RoleAdmin}},
		{"$JS.API.STREAM.DELETE.OBJ_p_pages", publish, []Role{RoleAdmin}},
		{"$JS.API.STREAM.UPDATE.OBJ_p_pages", publish, []Role{RoleAdmin}},
		{"$O.p_pages.C.x", subscribe, []Role{RoleAdmin}},

		// Gateways and those that answer them.
		{"p.relay.ask.a", publish, []Role{RoleGateway, RoleAdmin}},
		{"p.relay.ask.a", subscribe, []Role{RoleWorker, RoleAdmin}},
		{"$SRV.INFO", publish, all},
		{"$SRV.INFO", subscribe, []Role{RoleWorker, RoleGateway, RoleAdmin}},

		// Answers: everybody gets those on subjects with the own key, and those who answer may do
		// so to all.
		{"_INBOX." + key + ".x", subscribe, all},
		{"_INBOX.UOTHER.x", subscribe, []Role{RoleAdmin}},
		{"_INBOX.UOTHER.x", publish, []Role{RoleWorker, RoleGateway, RoleAdmin}},

		// What is of another cluster, or of the server.
		{"other.shard.a.attend", publish, []Role{RoleAdmin}},
		{"other.shard.a.put", subscribe, []Role{RoleAdmin}},
		{"$KV.other_sequences.s", publish, []Role{RoleAdmin}},
		{"$O.other_pages.C.x", publish, []Role{RoleAdmin}},
		{"$JS.API.STREAM.CREATE.KV_other_sequences", publish, []Role{RoleAdmin}},
		{"$SYS.REQ.SERVER.PING", publish, []Role{RoleAdmin}},
		{"p", publish, []Role{RoleAdmin}},
	} {
		var got []Role
		for _, role := range all {
			p, err := For(role, "p", key)
			if err != nil {
				t.Fatal(err)
			}
			allowed := p.Publish.Allow
			if c.listen {
				allowed = p.Subscribe.Allow
			}
			if slices.ContainsFunc(allowed, func(pattern string) bool { return server.SubjectsCollide(pattern, c.subject) }) {
				got = append(got, role)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s, listen %v: %v may, want %v", c.subject, c.listen, got, c.want)
		}
	}
}

// Nobody but an admin may use a pattern that has more than its cluster and the protocols of NATS.
func TestPatterns(t *testing.T) {
	for _, role := range Roles() {
		p, err := For(role, "a.b", key)
		if err != nil {
			t.Fatal(err)
		}
		for _, pattern := range slices.Concat(p.Publish.Allow, p.Subscribe.Allow) {
			ok := pattern == "_INBOX.>" || pattern == "_INBOX."+key+".>" || pattern == "$SRV.>" || pattern == "$JS.API.INFO" || strings.HasPrefix(pattern, "a.b.")
			ok = ok || strings.HasPrefix(pattern, "$J") && slices.Contains(strings.Split(pattern, "."), "KV_a_db_sequences")
			ok = ok || strings.HasPrefix(pattern, "$J") && slices.Contains(strings.Split(pattern, "."), "OBJ_a_db_pages")
			ok = ok || pattern == "$KV.a_db_sequences.>" || pattern == "$O.a_db_pages.>"
			if ok != (role != RoleAdmin) || !server.IsValidSubject(pattern) {
				t.Errorf("%s may use %s", role, pattern)
			}
		}
	}
	if _, err := For("root", "p", key); err == nil || !strings.Contains(err.Error(), "gateway") {
		t.Errorf("role root: %v", err)
	}
}

// usersOf returns the users of a folder, of which the server's parser has to read as many.
func usersOf(t *testing.T, dir string) []User {
	t.Helper()
	x, err := read(dir)
	if err != nil {
		t.Fatal(err)
	}
	o, err := server.ProcessConfigFile(filepath.Join(dir, UsersFile))
	if err != nil {
		t.Fatal(err)
	}
	if len(o.Nkeys) != len(x.Authorization.Users) {
		t.Errorf("the server reads %d users, want %d", len(o.Nkeys), len(x.Authorization.Users))
	}
	return x.Authorization.Users
}

// Users come and go, and the others stay as they are; files are for their owner alone.
func TestAddRemove(t *testing.T) {
	dir := t.TempDir()
	for _, role := range Roles() {
		if err := Add(dir, hub.DefaultPrefix, "x-"+string(role), role); err != nil {
			t.Fatal(err)
		}
	}
	before := usersOf(t, dir)
	if len(before) != len(Roles()) {
		t.Fatalf("%d users, want %d", len(before), len(Roles()))
	}
	for _, file := range []string{filepath.Join(dir, UsersFile), SeedFile(dir, "x-reader")} {
		if info, err := os.Stat(file); err != nil || info.Mode()&fs.ModePerm&0o077 != 0 && os.PathSeparator == '/' {
			t.Errorf("%v, %v: others may read it", info, err)
		}
	}
	seed, err := os.ReadFile(SeedFile(dir, "x-reader"))
	if err != nil {
		t.Fatal(err)
	}
	pair, err := nkeys.FromSeed(bytes.TrimSpace(seed))
	if err != nil {
		t.Fatal(err)
	}
	if public, err := pair.PublicKey(); err != nil || public != before[0].NKey {
		t.Errorf("the seed is that of %s, %v, want %s", public, err, before[0].NKey)
	}
	if err := Remove(dir, "x-reader"); err != nil {
		t.Fatal(err)
	}
	after, _ := json.Marshal(usersOf(t, dir))
	if want, _ := json.Marshal(before[1:]); !bytes.Equal(after, want) {
		t.Errorf("the others were changed: %s, want %s", after, want)
	}
	if _, err := os.Stat(SeedFile(dir, "x-reader")); !os.IsNotExist(err) {
		t.Errorf("the secret is still there: %v", err)
	}
}

// A file of users that this package has not written is refused as a whole: it stays as it is, and
// no secret is made or lost.
func TestHostileUsers(t *testing.T) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	public, err := pair.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	user := `{"nkey": "` + public + `", "permissions": {"publish": {"allow": ["a"]}, "subscribe": {"allow": ["b"]}, "allow_responses": true}}`
	file := func(users string) string { return `{"authorization": {"users": [` + users + `]}}` }
	for what, text := range map[string]string{
		"nothing":                   "",
		"null":                      "null",
		"the syntax of NATS":        "authorization { users = [ { nkey: " + public + " } ] }",
		"half a file":               file(user)[:60],
		"a list":                    "[" + user + "]",
		"two values":                file(user) + file(user),
		"text behind it":            file(user) + "port: 4223",
		"a setting of the server":   `{"port": 4223, ` + file(user)[1:],
		"a user with a password":    file(`{"user": "root", "password": "x"}`),
		"a password beside a key":   file(`{"password": "x", ` + user[1:]),
		"denied subjects":           file(strings.Replace(user, `"allow": ["a"]`, `"allow": ["a"], "deny": ["c"]`, 1)),
		"accounts":                  `{"accounts": {}, ` + file(user)[1:],
		"no key":                    file(`{"permissions": {}}`),
		"a key with a wrong letter": file(strings.Replace(user, public, public[:55]+string(public[55]^1), 1)),
		"the key of an account":     file(strings.Replace(user, public, "A"+public[1:], 1)),
		"a user twice":              file(user + ", " + user),
		"a name in capitals twice":  file(strings.Replace(user, `"nkey"`, `"nkey": "x", "NKEY"`, 1)),
		"deep nesting":              strings.Repeat(`{"authorization":`, 20000) + "1" + strings.Repeat("}", 20000),
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, UsersFile)
		seed, err := pair.Seed()
		if err == nil {
			err = os.WriteFile(path, []byte(text), 0o600)
		}
		if err == nil {
			err = os.WriteFile(SeedFile(dir, "old"), seed, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		for verb, err := range map[string]error{"add": Add(dir, "p", "new", RoleReader), "remove": Remove(dir, "old")} {
			if err == nil || !strings.Contains(err.Error(), UsersFile) {
				t.Errorf("%s, %s: %v, want an error that names the file", what, verb, err)
			}
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("%s: the file was changed: %s, %v", what, got, err)
		}
		if _, err := os.Stat(SeedFile(dir, "new")); !os.IsNotExist(err) {
			t.Errorf("%s: a secret was made: %v", what, err)
		}
		if _, err := os.Stat(SeedFile(dir, "old")); err != nil {
			t.Errorf("%s: a secret is lost: %v", what, err)
		}
	}
}

// Names are no paths, a secret is never replaced, and a file of users that cannot be written leaves
// no secret.
func TestHostileNames(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "keys")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Add(filepath.Dir(dir), "p", "out", RoleReader); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", ".", "../out", "a/b", "a.b", "a\x00", strings.Repeat("x", 65)} {
		if err := Add(dir, "p", name, RoleReader); err == nil {
			t.Errorf("Add took the name %q", name)
		}
		if err := Remove(dir, name); err == nil {
			t.Errorf("Remove took the name %q", name)
		}
	}
	if _, err := os.Stat(SeedFile(filepath.Dir(dir), "out")); err != nil {
		t.Errorf("a file outside of the folder is gone: %v", err)
	}
	if err := os.WriteFile(SeedFile(dir, "taken"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for verb, err := range map[string]error{"add": Add(dir, "p", "taken", RoleReader), "remove": Remove(dir, "taken")} {
		if got, _ := os.ReadFile(SeedFile(dir, "taken")); err == nil || string(got) != "x" {
			t.Errorf("%s: %v, and the file has %q", verb, err, got)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, UsersFile+".new"), 0o700); err != nil { // so that the file cannot be written
		t.Fatal(err)
	}
	if err := Add(dir, "p", "late", RoleReader); err == nil {
		t.Error("users were written")
	}
	if _, err := os.Stat(SeedFile(dir, "late")); !os.IsNotExist(err) {
		t.Errorf("a secret was left: %v", err)
	}
}
