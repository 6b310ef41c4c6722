// Command release makes and checks a release of the modules of the repository that have versions.
// No go.mod here has a replace: go.work ties the modules while they are worked on, and a release is
// what their requires say.
//
//	go run ./gen/tools/release COMMAND
//
//	stranger [-version v0.1.0] [-all]   builds and runs what others would get
//	bump v0.1.0                         sets what the modules require of each other
//	notes v0.1.0                        prints the release notes: a section of CHANGELOG.md
//	tags v0.1.0                         prints the names of the tags, a line each
//	tidy [DIR...]                       is go mod tidy, of all modules by default
//	get DIR MODULE@VERSION...           is go get in one module
//
// stranger puts every module, as its files lie, into a folder that serves as GOPROXY, under a
// version that need not exist. Without go.work and with an empty module cache it then installs
// commands by go install PATH@VERSION, and builds and runs programs that import the library.
// Modules of others come from this user's module cache, or else from GOPROXY.
//
// tidy and get are for what go mod tidy and go get cannot do in a module whose requires name
// versions that do not exist yet. They use a copy of go.mod with replaces, and write back what
// changes without them.
//
// CONTRIBUTING.md has the steps of a release.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"golang.org/x/mod/semver"
)

const usage = "use one of: stranger [-version v0.1.0] [-all], bump VERSION, notes VERSION, tags VERSION, tidy [DIR...], get DIR MODULE@VERSION"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// run does what the arguments say.
func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 {
		return errors.New(usage)
	}
	t, err := readTree(ctx)
	if err != nil {
		return err
	}
	command, args := args[0], args[1:]
	switch command {
	case "stranger":
		return strangerCommand(ctx, t, args, out)
	case "tidy":
		return t.tidy(ctx, args, out)
	case "get":
		if len(args) < 2 {
			return errors.New("use: get DIR MODULE@VERSION, of one or more modules")
		}
		return t.edit(ctx, args[0], out, append([]string{"get"}, args[1:]...)...)
	case "bump", "notes", "tags":
		if len(args) != 1 || !canonical(args[0]) {
			return fmt.Errorf("use: %s VERSION, such as v0.1.0", command)
		}
	default:
		return fmt.Errorf("no command %q; %s", command, usage)
	}
	switch version := args[0]; command {
	case "bump":
		return t.bump(version)
	case "notes":
		return t.notes(version, out)
	default:
		for _, m := range t.released() {
			fmt.Fprintln(out, m.tag(version))
		}
		return nil
	}
}

// canonical tells whether a version is one that a tag can have, such as v0.1.0 and v1.0.0-rc.1.
func canonical(version string) bool {
	return semver.IsValid(version) && semver.Canonical(version) == version
}

func strangerCommand(ctx context.Context, t *tree, args []string, out io.Writer) error {
	f := flag.NewFlagSet("stranger", flag.ContinueOnError)
	version := f.String("version", "v0.1.0", "the version that the modules have in the test")
	all := f.Bool("all", false, "build every package of every module that the Go at hand can build")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() > 0 || !canonical(*version) {
		return fmt.Errorf("stranger takes no arguments, and as -version one such as v0.1.0; got %q and %s", f.Args(), *version)
	}
	return t.stranger(ctx, *version, *all, out)
}
