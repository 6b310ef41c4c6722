package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// lines are the lines of a page that take attn out of a clone.
var lines = regexp.MustCompile(`(?m)^    (go (?:mod edit|get) .*)$`)

// program is a whole program of a page.
var program = regexp.MustCompile("(?s)```go\n(package main\n.*?)```")

// TestClone: beside a clone, the lines of each page make a module that builds the page's program, and
// the program prints what the page says. Go modules come from the machine's cache alone; what it
// lacks is not tested.
func TestClone(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs")
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range []string{"README.md", "models/README.md", "bridge/embeddings/README.md", "bridge/born/README.md"} {
		t.Run(strings.ReplaceAll(page, "/", "_"), func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(root, page))
			if err != nil {
				t.Fatal(err)
			}
			m := newModule(t, root)
			commands := lines.FindAllStringSubmatch(string(text), -1)
			if len(commands) < 2 {
				t.Fatalf("%s has %d lines for a clone", page, len(commands))
			}
			for _, c := range commands {
				m.run(strings.Fields(c[1])...)
			}
			source := "package main\n\nimport \"github.com/attn-go/attn/kernel\"\n\nfunc main() { println(kernel.Contract) }\n"
			want := ""
			if found := program.FindStringSubmatch(string(text)); found != nil {
				source = found[1]
				_, want, _ = strings.Cut(source, "// Output: ")
				want, _, _ = strings.Cut(want, "\n")
			} else if page != "README.md" {
				t.Fatalf("%s has no program", page)
			}
			if err := os.WriteFile(filepath.Join(m.folder, "main.go"), []byte(source), 0o666); err != nil {
				t.Fatal(err)
			}
			m.run("go", "vet", ".")
			if want == "" {
				return
			}
			out, err := m.command("go", "run", ".").CombinedOutput()
			switch {
			case strings.Contains(string(out), "make models"):
				t.Logf("NOT RUN: the program of %s: %s", page, out)
			case err != nil || string(out) != want+"\n":
				t.Errorf("%s: the program prints %q, %v, want %q", page, out, err, want)
			}
		})
	}
}

// A module is one beside a clone.
type module struct {
	*testing.T
	folder string
	env    []string
}

func newModule(t *testing.T, root string) *module {
	t.Helper()
	cache, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Skipf("NOT RUN: there is no go command: %v", err)
	}
	parent := t.TempDir()
	if err := os.Symlink(root, filepath.Join(parent, "attn")); err != nil {
		t.Skipf("NOT RUN: there are no links here: %v", err)
	}
	m := &module{t, filepath.Join(parent, "try"), nil}
	if err := os.Mkdir(m.folder, 0o777); err != nil {
		t.Fatal(err)
	}
	proxy := "file://" + filepath.ToSlash(filepath.Join(strings.TrimSpace(string(cache)), "cache", "download"))
	m.env = append(os.Environ(), "GOWORK=off", "GOFLAGS=", "GOSUMDB=off", "GOPROXY="+proxy, "GOTOOLCHAIN=local")
	m.run("go", "mod", "init", "try")
	return m
}

func (m *module) command(args ...string) *exec.Cmd {
	c := exec.Command(args[0], args[1:]...)
	c.Dir, c.Env = m.folder, append(m.env, "PWD="+m.folder)
	return c
}

// run runs a command. If it fails because the cache lacks a module, the test is skipped.
func (m *module) run(args ...string) {
	m.Helper()
	out, err := m.command(args...).CombinedOutput()
	if err == nil {
		return
	}
	if strings.Contains(string(out), "/cache/download/") {
		m.Skipf("NOT RUN: the cache of modules lacks one: %s", out)
	}
	m.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
}
