//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attn-go/attn/cluster/internal/testutil"
)

// unitArguments returns the arguments of the command that a systemd unit starts, with other paths,
// addresses and ports.
func unitArguments(t *testing.T, name string, change *strings.Replacer) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("deploy", name))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if command, ok := strings.CutPrefix(line, "ExecStart=/usr/local/bin/cluster "); ok {
			return strings.Fields(change.Replace(command))
		}
	}
	t.Fatalf("%s starts no cluster command", name)
	return nil
}

// exampleArguments returns the arguments with which an example starts a program, with other paths,
// addresses and ports, and without encryption.
func exampleArguments(t *testing.T, example, program string, change *strings.Replacer) (args []string) {
	t.Helper()
	var all []string
	switch example {
	case "systemd":
		all = unitArguments(t, "attn-"+program+".service", strings.NewReplacer())
	case "compose":
		all = readCompose(t).Services[strings.Replace(program, "serve", "server", 1)].Command
	case "kubernetes":
		for _, w := range kubeWorkloads(t) {
			if container := w.Spec.Template.Spec.Containers[0]; container.Args[0] == program {
				all = container.Args
			}
		}
	}
	for i := 0; i < len(all); i++ {
		if strings.HasPrefix(all[i], "-tls-") {
			i++
			continue
		}
		args = append(args, change.Replace(all[i]))
	}
	if len(args) == 0 || args[0] != program {
		t.Fatalf("%s starts %s with %q", example, program, all)
	}
	return args
}

// The units' commands start: a server that knows users and encrypts, and a worker that connects to
// it.
func TestUnits(t *testing.T) {
	t.Parallel()
	cert, key := testutil.Certificate(t)
	dir, ports := keys(t), freePorts(3)
	change := strings.NewReplacer("/etc/attn/cert.pem", cert, "/etc/attn/ca.pem", cert, "/etc/attn/key.pem", key, "/etc/attn", dir, "/var/lib/attn", t.TempDir(),
		"0.0.0.0", "127.0.0.1", "//server:", "//127.0.0.1:", "4222", ports[0], "9222", ports[1], "9223", ports[2])
	startProcess(t, "listening on", unitArguments(t, "attn-serve.service", change)...)
	startProcess(t, "waits for", unitArguments(t, "attn-work.service", change)...)
}
