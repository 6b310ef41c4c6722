//go:build unix

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/attn-go/attn/cluster/access"
	"github.com/attn-go/attn/models/encoder/berttest"
)

// A program whose user may not do what it needs ends, and says which permission lacks.
func TestMissingPermission(t *testing.T) {
	t.Parallel()
	dir, folder, output := keys(t), t.TempDir(), filepath.Join(t.TempDir(), "v.jsonl")
	if err := berttest.New("").Write(folder, "F32"); err != nil {
		t.Fatal(err)
	}
	_, line := startProcess(t, "listening on", "serve", "-port", "-1", "-users", filepath.Join(dir, access.UsersFile))
	url := line[strings.Index(line, "nats://"):]
	as := func(user string, args ...string) []string {
		return append([]string{args[0], "-server", url, "-nkey", access.SeedFile(dir, user)}, args[1:]...)
	}
	startProcess(t, "waits for", as("worker", "work", "-name", "a")...)
	startProcess(t, "answers with", as("worker", "answer", "-model", "../models/testdata/tiny/llama-2")...)
	if out, _, err := runCommand(t.Context(), as("writer", "attend", "-name", "s", "-keys", "300", "-tokens", "2", "-replicas", "1")...); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, c := range []struct {
		args []string
		want string // in the error
	}{
		{as("reader", "work", "-name", "b"), `for Subscription to "`},
		{as("gateway", "answer", "-model", "../models/testdata/tiny/llama-2"), `for Subscription to "`},
		{as("reader", "gateway", "-addr", "127.0.0.1:0"), `for Subscription to "`},
		{as("reader", "attend", "-keys", "300", "-timeout", "10s"), `for Subscription to "attn.held.`},
		{as("reader", "embed", "-o", output, "permission_test.go"), `for `},
		{as("gateway", "status"), `for Publish to "`},
		{as("reader", "sequences", "-free", "s-0"), `for Publish to "$KV.attn_sequences.s-0"`},
	} {
		_, report, err := runCommand(t.Context(), c.args...)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "want a role") {
			t.Errorf("%q: %v, want %s\n%s", c.args, err, c.want, report)
		}
		if strings.Contains(report, "waits for keys") {
			t.Errorf("%q says that it is ready: %s", c.args, report)
		}
	}
}
