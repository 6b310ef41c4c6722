package main

import (
	"context"
	"fmt"
	"go/version"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

const root = "github.com/attn-go/attn"

// commands are those that the test installs. None of them needs a network or weights for its -h.
var commands = []struct{ path, help string }{
	{root + "/models/attn", "embed"},
	{root + "/cluster", "demo"},
}

// A program is what somebody writes who imports the library.
type program struct {
	name, source, want string
	modules            []string // those that it builds with, besides its own
}

var programs = []program{
	{"a program that imports kernel", `package main

import (
	"fmt"

	"github.com/attn-go/attn/kernel"
)

func main() {
	q, k, v, out := []float32{0, 900, 900, 0}, []float32{1, 0, 0, 1, -1, 0}, []float32{1, 2, 3, 4, 5, 6}, make([]float32, 4)
	err := kernel.Attention(kernel.BHLD(out, 1, 1, 2, 2), kernel.BHLD(q, 1, 1, 2, 2), kernel.BHLD(k, 1, 1, 3, 2), kernel.BHLD(v, 1, 1, 3, 2), nil)
	fmt.Println(out, err)
}
`, "[3 4 1 2] <nil>\n", embedder},
	{"a program that imports attn", `package main

import (
	"fmt"
	"strings"

	"github.com/attn-go/attn"
)

func main() {
	fmt.Println(attn.Contract > 0, strings.Contains(attn.Report(), "tier     generic"))
}
`, "true true\n", embedder},
}

// embedder is what a program gets that imports the library.
var embedder = []string{root, "github.com/klauspost/cpuid/v2", "golang.org/x/sys"}

// A stranger has the modules as a proxy has them, and nothing of the tree.
type stranger struct {
	dir, bin, version string
	env               []string
	out               io.Writer
}

// stranger installs, builds and runs as somebody does who has only the released modules.
func (t *tree) stranger(ctx context.Context, at string, all bool, out io.Writer) error {
	dir, err := os.MkdirTemp("", "stranger")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s := &stranger{dir: dir, bin: filepath.Join(dir, "bin"), version: at, out: out}
	if s.env, err = s.environment(ctx); err != nil {
		return err
	}
	if err := s.step("zips of all modules at "+at, func() error { return t.writeProxy(filepath.Join(dir, "proxy"), at) }); err != nil {
		return err
	}
	for _, c := range commands {
		if err := s.step("go install "+c.path+"@"+at, func() error { return s.install(ctx, c.path, c.help) }); err != nil {
			return err
		}
	}
	if err := s.step("embed with a model of the tests", func() error { return s.embed(ctx) }); err != nil {
		return err
	}
	for i, p := range programs {
		if err := s.step(p.name, func() error { return s.program(ctx, fmt.Sprintf("program%d", i), p) }); err != nil {
			return err
		}
	}
	if !all {
		return nil
	}
	for i, m := range t.released() {
		if version.Compare(m.goes, runtime.Version()) > 0 {
			fmt.Fprintf(out, "NOT RUN: every package of %s, because it needs %s\n", m.path, m.goes)
			continue
		}
		if err := s.step("every package of "+m.path, func() error { return s.build(ctx, fmt.Sprintf("module%d", i), m) }); err != nil {
			return err
		}
	}
	return nil
}

// environment returns the variables of commands: no workspace, an empty module cache, and a proxy
// that has the modules. Modules of others come out of this user's module cache if they are there.
func (s *stranger) environment(ctx context.Context) ([]string, error) {
	settings, err := output(exec.CommandContext(ctx, "go", "env", "GOMODCACHE", "GOPROXY"))
	if err != nil {
		return nil, err
	}
	cache, proxy, _ := strings.Cut(strings.TrimSpace(settings), "\n")
	url := func(dir string) string { return "file://" + filepath.ToSlash(dir) }
	return append(os.Environ(),
		"GOWORK=off",
		"GOMODCACHE="+filepath.Join(s.dir, "cache"),
		"GOPROXY="+url(filepath.Join(s.dir, "proxy"))+","+url(filepath.Join(cache, "cache", "download"))+","+proxy,
		"GOPRIVATE=", "GONOPROXY=", "GONOSUMDB="+root+","+root+"/*", // no database has their sums
		"GOBIN="+s.bin,
		"GOFLAGS=-trimpath -modcacherw -buildvcs=false"+harmless(os.Getenv("GOFLAGS")), // trimpath: so that the build cache serves the next run
	), nil
}

// harmless returns some of the flags of GOFLAGS, each after a space: how many processes run at
// once, and what compilers, assemblers and linkers are told, as not to write debug information. The
// others change which modules and files commands build, or what these do. It leaves out flags in
// quotes.
func harmless(flags string) (kept string) {
	for _, flag := range strings.Fields(flags) {
		switch name, _, _ := strings.Cut(flag, "="); name {
		case "-p", "-gcflags", "-asmflags", "-ldflags":
			kept += " " + flag
		}
	}
	return kept
}

// step does something and prints how long it took.
func (s *stranger) step(name string, do func() error) error {
	start := time.Now()
	if err := do(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	fmt.Fprintf(s.out, "%5.1f s  %s\n", time.Since(start).Seconds(), name)
	return nil
}

// run runs a command in a folder and returns what it prints.
func (s *stranger) run(ctx context.Context, dir string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, args[0], args[1:]...)
	c.Dir, c.Env = dir, s.env
	return output(c)
}

// install installs a command and asks it for its help.
func (s *stranger) install(ctx context.Context, path, help string) error {
	if _, err := s.run(ctx, s.dir, "go", "install", path+"@"+s.version); err != nil {
		return err
	}
	c := exec.CommandContext(ctx, filepath.Join(s.bin, filepath.Base(path)), "-h")
	c.Env = s.env
	text, err := c.CombinedOutput()
	if err != nil || !strings.Contains(string(text), help) {
		return fmt.Errorf("-h does not name %s: %v\n%s", help, err, text)
	}
	return nil
}

// embed computes a vector with the installed command and a model that lies in the zip of its
// module.
func (s *stranger) embed(ctx context.Context) error {
	model := filepath.Join(s.dir, "cache", filepath.FromSlash(root)+"/models@"+s.version, "testdata", "tiny", "bert-1")
	text, err := s.run(ctx, s.dir, filepath.Join(s.bin, "attn"), "embed", "-model", model, "-text", "a b c")
	if err == nil && !strings.Contains(text, `"embedding":[`) {
		err = fmt.Errorf("no vector in %q", text)
	}
	return err
}

// program builds and runs a program in a module of its own.
func (s *stranger) program(ctx context.Context, name string, p program) error {
	dir, err := s.module(ctx, name, map[string]string{"main.go": p.source}, root)
	if err != nil {
		return err
	}
	if _, err := s.run(ctx, dir, "go", "mod", "tidy"); err != nil {
		return err
	}
	text, err := s.run(ctx, dir, "go", "run", ".")
	if err != nil {
		return err
	}
	if text != p.want {
		return fmt.Errorf("it prints %q, want %q", text, p.want)
	}
	list, err := s.run(ctx, dir, "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", ".")
	if err != nil {
		return err
	}
	modules := strings.Fields(list)
	slices.Sort(modules)
	modules = slices.DeleteFunc(slices.Compact(modules), func(path string) bool { return path == name })
	if !slices.Equal(modules, p.modules) {
		return fmt.Errorf("it is built with the modules %q, want %q", modules, p.modules)
	}
	return nil
}

// build builds every package of a module, with its tests: get -t also finds what these alone
// import.
func (s *stranger) build(ctx context.Context, name string, m module) error {
	dir, err := s.module(ctx, name, nil, m.path)
	if err != nil {
		return err
	}
	if _, err := s.run(ctx, dir, "go", "get", "-t", m.path+"/...@"+s.version); err != nil {
		return err
	}
	packages, err := s.run(ctx, dir, "go", "list", m.path+"/...")
	if err != nil {
		return err
	}
	_, err = s.run(ctx, dir, append([]string{"go", "vet"}, strings.Fields(packages)...)...)
	return err
}

// module makes a module that requires a module of the tree.
func (s *stranger) module(ctx context.Context, name string, files map[string]string, requires string) (string, error) {
	dir := filepath.Join(s.dir, name)
	if err := os.Mkdir(dir, 0o777); err != nil {
		return "", err
	}
	for file, text := range files {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o666); err != nil {
			return "", err
		}
	}
	if _, err := s.run(ctx, dir, "go", "mod", "init", name); err != nil {
		return "", err
	}
	_, err := s.run(ctx, dir, "go", "get", requires+"@"+s.version)
	return dir, err
}
