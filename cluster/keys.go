package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/attn-go/attn/cluster/access"
	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/models/command"
)

const keysUsage = `usage: cluster keys [flags] ROLE[=NAME]...

Makes a user for each argument: an NKey, whose secret is in the file NAME.nk of the folder, and permissions, which users.conf has
for serve -users and for other NATS servers. NAME is that of the role unless it is given. A server reads users.conf when it starts.
The roles:

  reader   sequences and status, and programs that read sequences
  writer   also sequences -free, demo -server, and programs that write sequences
  worker   work and answer
  gateway  gateway and embed
  admin    everything, such as upgrade -yes
`

// runKeys makes users, or removes them.
func runKeys(_ context.Context, s streams, args []string) error {
	dir, prefix, remove := "", hub.DefaultPrefix, false
	fs := newFlags("keys", keysUsage)
	fs.StringVar(&dir, "o", "keys", "`folder` for the files, created if missing")
	fs.StringVar(&prefix, "prefix", prefix, "first `tokens` of all subjects of the cluster")
	fs.BoolVar(&remove, "remove", false, "remove the users that the arguments name, and their secrets")
	if err := command.Parse(fs, args, s.out); err != nil {
		return err
	}
	if fs.NArg() == 0 || !hub.IsPrefix(prefix) {
		return command.Usage(errors.New("want at least one argument, and -prefix of tokens of letters, digits, - and _, separated by dots"))
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, arg := range fs.Args() {
		role, name, named := strings.Cut(arg, "=")
		if !named {
			name = role
		}
		if remove {
			if err := access.Remove(dir, name); err != nil {
				return err
			}
			fmt.Fprintf(s.out, "removed %s\n", name)
			continue
		}
		if err := access.Add(dir, prefix, name, access.Role(role)); err != nil {
			return err
		}
		fmt.Fprintf(s.out, "%s: -nkey %s\n", role, access.SeedFile(dir, name))
	}
	fmt.Fprintf(s.out, "server: -users %s\n", filepath.Join(dir, access.UsersFile))
	return nil
}
