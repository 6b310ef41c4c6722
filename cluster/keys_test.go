//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/attn-go/attn/cluster/access"
	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/internal/testutil"
	"github.com/attn-go/attn/models/encoder/berttest"
)

// keys makes users of all roles, and a second writer.
func keys(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "keys")
	out, _, err := runCommand(t.Context(), "keys", "-o", dir, "worker", "reader", "writer", "writer=other", "gateway", "admin", "reader=gone")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out, "-nkey "+access.SeedFile(dir, "other")) {
		t.Errorf("%s", out)
	}
	if _, _, err := runCommand(t.Context(), "keys", "-o", dir, "worker"); err == nil {
		t.Error("a secret was replaced")
	}
	for _, args := range [][]string{{"nosuch"}, {"reader=a.b"}, {"-remove", "nosuch"}} {
		if _, _, err := runCommand(t.Context(), append([]string{"keys", "-o", dir}, args...)...); err == nil {
			t.Errorf("%q was done", args)
		}
	}
	return dir
}

// Users do what their roles are for, and the server refuses all else.
func TestRoles(t *testing.T) {
	t.Parallel()
	dir, folder := keys(t), t.TempDir()
	seed := func(name string) string { return access.SeedFile(dir, name) }
	gone, err := os.ReadFile(seed("gone"))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := runCommand(t.Context(), "keys", "-o", dir, "-remove", "gone"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(seed("gone"), gone, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := berttest.New("").Write(folder, "F32"); err != nil {
		t.Fatal(err)
	}
	_, line := startProcess(t, "listening on", "serve", "-port", "-1", "-users", filepath.Join(dir, access.UsersFile))
	url := line[strings.Index(line, "nats://"):]
	if _, err := hub.Connect(t.Context(), hub.Config{URL: url, NKeySeedFile: seed("gone")}); err == nil {
		t.Error("a user connects that was removed")
	}
	startProcess(t, "waits for", "work", "-name", "a", "-server", url, "-nkey", seed("worker"))
	startProcess(t, "answers with the fingerprint", "answer", "-name", "b", "-model", folder, "-server", url, "-nkey", seed("worker"))
	as := func(user string, args ...string) (string, error) {
		out, report, err := runCommand(t.Context(), append([]string{args[0], "-server", url, "-nkey", seed(user)}, args[1:]...)...)
		return out + report, err
	}
	input, output := filepath.Join(t.TempDir(), "x.txt"), filepath.Join(t.TempDir(), "v.jsonl")
	if err := os.WriteFile(input, []byte("a\nb\nc\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		user string
		args []string
		want string // in the output
	}{
		{"writer", []string{"attend", "-name", "s", "-keys", "300", "-tokens", "2", "-replicas", "1"}, "the bits that one machine gives"},
		{"reader", []string{"sequences"}, "s-0: 302 keys"},
		{"reader", []string{"status"}, "worker a-"},
		{"gateway", []string{"embed", "-o", output, input}, "3 texts"},
	} {
		var out string
		var err error
		for range attempts {
			out, err = as(c.user, c.args...)
			if late := c.user == "reader" && err == nil && !strings.Contains(out, c.want); !late {
				break
			}
		}
		if err != nil || !strings.Contains(out, c.want) {
			t.Errorf("%s %q: %v\n%s", c.user, c.args, err, out)
		}
	}
	conn, err := hub.Connect(t.Context(), hub.Config{URL: url, NKeySeedFile: seed("admin")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	if out, err := as("reader", "sequences", "-free", "s-0"); err == nil {
		t.Errorf("a reader frees: %s", out)
	}
	if all := list(t, conn); len(all) != 1 || all[0].Keys != 302 {
		t.Errorf("%+v", all)
	}
	checkRefused(t, url, seed)
	if out, err := as("writer", "sequences", "-free", "s-0"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// checkRefused expects the server to refuse what a role is not for.
func checkRefused(t *testing.T, url string, seed func(user string) string) {
	for _, c := range []struct {
		user, subject string
		listen        bool
		refused       bool
	}{
		{"reader", "attn.shard.a.put", false, true},
		{"reader", "attn.shard.a.free", false, true},
		{"reader", "attn.shard.a.send", false, true},
		{"reader", "$KV.attn_sequences.s-0", false, true},
		{"reader", "attn.relay.ask.fp", false, true},
		{"reader", "$JS.API.STREAM.DELETE.KV_attn_sequences", false, true},
		{"reader", "attn.held.r", true, true},
		{"reader", "attn.shard.a.attend", false, false},
		{"writer", "attn.relay.ask.fp", false, true},
		{"writer", "$JS.API.STREAM.DELETE.KV_attn_sequences", false, true},
		{"writer", "attn.shard.a.put", true, true},
		{"writer", "attn.shard.>", true, true},
		{"writer", "_INBOX.>", true, true},
		{"writer", "other.shard.a.put", false, true},
		{"writer", "attn.shard.a.put", false, false},
		{"worker", "_INBOX.>", true, true},
		{"worker", "$JS.API.STREAM.DELETE.KV_attn_sequences", false, true},
		{"worker", "other.shard.a.put", true, true},
		{"worker", "attn.shard.a.put", true, false},
		{"admin", "$JS.API.STREAM.DELETE.other", false, false},
	} {
		option, err := nats.NkeyOptionFromSeed(seed(c.user))
		if err != nil {
			t.Fatal(err)
		}
		nc, err := nats.Connect(url, option, nats.Timeout(callTimeout), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
		if err != nil {
			t.Fatal(err)
		}
		if c.listen {
			_, err = nc.SubscribeSync(c.subject)
		} else {
			err = nc.Publish(c.subject, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		nc.FlushTimeout(callTimeout)
		if err := nc.LastError(); (err != nil && strings.Contains(strings.ToLower(err.Error()), "permissions violation")) != c.refused {
			t.Errorf("%s, %s, listens %v: %v", c.user, c.subject, c.listen, err)
		}
		nc.Close()
	}
}

// Errors about the files of users, secrets and certificates name them.
func TestErrorsNameFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "broken")
	if err := os.WriteFile(file, []byte("no key\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cert, key := testutil.Certificate(t)
	for _, args := range [][]string{
		{"status", "-nkey", file}, {"status", "-creds", file}, {"status", "-tls-ca", file}, {"status", "-tls-cert", cert, "-tls-key", file},
		{"serve", "-port", "-1", "-users", file}, {"serve", "-port", "-1", "-tls-cert", cert, "-tls-key", file}, {"serve", "-port", "-1", "-tls-cert", cert, "-tls-key", key, "-tls-ca", file},
	} {
		for _, name := range []string{file, file + ".none"} {
			for i := range args {
				args[i] = strings.Replace(args[i], file, name, 1)
			}
			if _, _, err := runCommand(t.Context(), args...); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%q: %v", args, err)
			}
		}
	}
}
