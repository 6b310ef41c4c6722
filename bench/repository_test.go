package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// program is a command that takes -json FILE and writes results whose calls take so many
// nanoseconds. It writes the number of its arguments as the note.
const program = `package main

import (
	"fmt"
	"os"
)

func main() {
	path, ns := os.Args[len(os.Args)-1], %d
	if ns < 0 {
		fmt.Fprintln(os.Stderr, "bits differ")
		os.Exit(1)
	}
	text := fmt.Sprintf("{\"format\":\"attn-bench\",\"schema\":1,\"contract\":2,\"note\":\"%%d\",\"machine\":{\"cpu\":\"x\"},\"tiers\":[{\"name\":\"generic\"}],\"speed\":[{\"shape\":\"p\",\"threads\":1,\"ns\":%%d}]}", len(os.Args)-1, ns)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		panic(err)
	}
}
`

// testRepository makes a repository in a temporary folder and returns its path. Its commits have
// the tags v0, v1, ..., and in place of the bench command a program that writes results of these
// times, in nanoseconds, or fails if the time is negative. The last time is for the files as they
// lie. Without git or go the test is skipped.
func testRepository(t *testing.T, times ...int) string {
	t.Helper()
	for _, need := range []string{"git", "go"} {
		if _, err := exec.LookPath(need); err != nil {
			t.Skipf("NOT RUN: %v", err)
		}
	}
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) {
		c := exec.CommandContext(t.Context(), "git", args...)
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", c, err, out)
		}
	}
	run("init", "-q", "-b", "main")
	write("bench/go.mod", "module example.com/bench\n\ngo 1.26\n")
	for i, ns := range times {
		write("bench/main.go", fmt.Sprintf(program, ns))
		if i < len(times)-1 {
			run("add", "-A")
			run("-c", "user.name=x", "-c", "user.email=x", "commit", "-q", "-m", "x")
			run("tag", fmt.Sprintf("v%d", i))
		}
	}
	return dir
}
