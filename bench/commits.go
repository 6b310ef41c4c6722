package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/attn-go/attn/bench/internal/results"
)

// here names the files of the repository as they lie, with changes that are not committed.
const here = "."

// A duel measures two commits of the repository in turn: it checks both out beside the files as
// they lie, builds their bench commands, and runs these alternately.
type duel struct {
	dir    string    // a folder of the repository; "" is the current one
	names  [2]string // two commits, as git names them, or here
	rounds int       // how often each is measured
	args   []string  // of the bench command, without -json
	log    io.Writer // gets a line for each round
}

// errNoCommit is in the chain of errors about names that git does not know.
var errNoCommit = errors.New("no commit of this repository")

// resolve returns the hash of a commit, "" for here.
func resolve(ctx context.Context, dir, name string) (string, error) {
	if name == here {
		_, err := git(ctx, dir, "rev-parse", "--show-toplevel")
		return "", err
	}
	hash, err := git(ctx, dir, "rev-parse", "--verify", "--end-of-options", name+"^{commit}")
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("%s: %w: %v", name, errNoCommit, err)
	}
	return hash, err
}

// A version is what is compared with another.
type version struct {
	label   string
	dir     string // its files
	command string // its bench command
	files   []*results.File
}

// run measures both versions rounds times, in turn, and returns the results of each round. The
// repository stays as it was.
func (p *duel) run(ctx context.Context) (files [2][]*results.File, err error) {
	root, err := git(ctx, p.dir, "rev-parse", "--show-toplevel")
	if err != nil {
		return files, err
	}
	tmp, err := os.MkdirTemp("", "attn-compare")
	if err != nil {
		return files, err
	}
	defer os.RemoveAll(tmp)
	versions := make([]*version, 2)
	for i, name := range p.names {
		v, remove, err := checkOut(ctx, root, name, filepath.Join(tmp, []string{"old", "new"}[i]))
		if err != nil {
			return files, err
		}
		defer remove()
		fmt.Fprintf(p.log, "building %s\n", v.label)
		if err := v.build(ctx); err != nil {
			return files, err
		}
		versions[i] = v
	}
	for round := range p.rounds {
		order := slices.Clone(versions)
		if round%2 == 1 { // a machine that gets slower does not favour the first
			slices.Reverse(order)
		}
		for _, v := range order {
			fmt.Fprintf(p.log, "round %d of %d: %s\n", round+1, p.rounds, v.label)
			if err := v.run(ctx, p.args, filepath.Join(tmp, "result.json")); err != nil {
				return files, err
			}
		}
	}
	return [2][]*results.File{versions[0].files, versions[1].files}, nil
}

// checkOut puts a commit's files into a folder. remove takes them away again.
func checkOut(ctx context.Context, root, name, dir string) (v *version, remove func(), err error) {
	hash, err := resolve(ctx, root, name)
	if err != nil {
		return nil, nil, err
	}
	v = &version{label: "the files as they lie", dir: root, command: dir + ".exe"}
	if name == here {
		return v, func() {}, nil
	}
	v.label, v.dir = fmt.Sprintf("%s (%.12s)", name, hash), dir
	if _, err := git(ctx, root, "worktree", "add", "--detach", dir, hash); err != nil {
		return nil, nil, err
	}
	return v, func() {
		git(context.WithoutCancel(ctx), root, "worktree", "remove", "--force", dir)
	}, nil
}

// build builds the bench command.
func (v *version) build(ctx context.Context) error {
	c := exec.CommandContext(ctx, "go", "build", "-o", v.command, ".")
	c.Dir = filepath.Join(v.dir, "bench")
	c.Env = append(os.Environ(), "GOWORK=auto") // the workspace of its own files
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("building bench of %s: %w\n%s", v.label, err, out)
	}
	return nil
}

// run measures once.
func (v *version) run(ctx context.Context, args []string, path string) error {
	c := exec.CommandContext(ctx, v.command, append(slices.Clone(args), "-json", path)...)
	c.Dir = v.dir // whose commit the results name
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = 10 * time.Second
	var stderr bytes.Buffer
	c.Stderr = &stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("bench of %s: %w\n%s", v.label, err, tail(stderr.String()))
	}
	f, err := results.Read(path)
	if err != nil {
		return fmt.Errorf("bench of %s: %w", v.label, err)
	}
	v.files = append(v.files, f)
	return os.Remove(path) // the next run must not leave this one's results
}

// tail returns the last lines of a text.
func tail(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-10):], "\n")
}

// git runs git in a folder and returns its output.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, "git", args...)
	c.Dir = dir
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(string(out)), nil
}
