package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// moduleRoot returns the folder of the library's module.
func moduleRoot() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return "", fmt.Errorf("go list: %w (cross runs in the repository only)", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// install installs the emulators that the platforms need, as far as they are missing.
func install(ctx context.Context, chosen []platform) error {
	var packages []string
	for _, p := range chosen {
		switch _, err := exec.LookPath(p.emulator()); {
		case p.bochs && exec.CommandContext(ctx, "dpkg", append([]string{"--status"}, bochsPackages...)...).Run() != nil:
			packages = append(packages, bochsPackages...)
		case p.qemu != "" && err != nil && !slices.Contains(packages, "qemu-user-static"):
			packages = append(packages, "qemu-user-static")
		}
	}
	if packages == nil {
		return nil
	}
	if err := installPackages(ctx, packages...); err != nil {
		return err
	}
	for _, p := range chosen {
		if name := p.emulator(); name != "" {
			if _, err := exec.LookPath(name); err != nil {
				return fmt.Errorf("apt installed no %s", name)
			}
		}
	}
	return nil
}

// A builder builds the test binaries of each target, and wazero. It builds everything once.
type builder struct {
	root, dir string
	chosen    []platform
	packages  []testedPackage
	once      sync.Map // name to func() error
}

// get returns the folder of this name and, at the first call with this name, builds what
// belongs into it.
func (b *builder) get(name string, build func(dir string) error) (string, error) {
	dir := filepath.Join(b.dir, name)
	f, _ := b.once.LoadOrStore(name, sync.OnceValue(func() error {
		if err := os.Mkdir(dir, 0o777); err != nil {
			return err
		}
		return build(dir)
	}))
	return dir, f.(func() error)()
}

// binaries returns the folder of the platform's test binaries. Platforms whose builds need
// the same environment share them, those with lists of their own among themselves. They have
// no symbols, which keeps them small.
func (b *builder) binaries(ctx context.Context, p *platform, took *time.Duration) (string, error) {
	name := strings.Join(p.env(), ",")
	if p.list != nil {
		name += ",list"
	}
	return b.get(name, func(dir string) error {
		// Without what debuggers need, the build takes a fifth less time.
		args := []string{"test", "-c", "-gcflags=all=-dwarf=false", "-ldflags=-s -w", "-o", dir + "/"}
		return b.golang(ctx, took, append(args, b.shared(p)...), p.env()...)
	})
}

// shared returns the packages of all chosen platforms that share p's binaries: the first of them
// builds for the others.
func (b *builder) shared(p *platform) (packages []string) {
	for i := range b.chosen {
		other := &b.chosen[i]
		if (other.list != nil) != (p.list != nil) || !slices.Equal(other.env(), p.env()) {
			continue
		}
		for _, pkg := range other.tests(b.packages) {
			packages = append(packages, "./"+pkg.path)
		}
	}
	slices.Sort(packages)
	return slices.Compact(packages)
}

// wazero returns the path of wazero, a WebAssembly runtime.
func (b *builder) wazero(ctx context.Context, took *time.Duration) (string, error) {
	dir, err := b.get("wazero", func(dir string) error {
		return b.golang(ctx, took, []string{"build", "-C", "gen", "-o", dir + "/", "github.com/tetratelabs/wazero/cmd/wazero"},
			"GOOS=", "GOARCH=")
	})
	return filepath.Join(dir, "wazero"), err
}

// golang runs the command go and adds the time of the CPU that it took.
func (b *builder) golang(ctx context.Context, took *time.Duration, args []string, env ...string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = b.root
	cmd.Env = append(os.Environ(), append(env, "CGO_ENABLED=0")...)
	out, err := cmd.CombinedOutput()
	*took += cpuTime(cmd.ProcessState)
	if err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}
