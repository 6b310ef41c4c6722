package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A runner runs the tests of a package and returns their output, and the time of the CPU that they
// took.
type runner func(ctx context.Context, pkg *testedPackage) ([]byte, time.Duration, error)

// test builds and runs a platform's tests.
func test(ctx context.Context, b *builder, p *platform, timeout time.Duration) (r result) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the machine, if there is one
	run, err := b.runner(ctx, p, timeout, &r.build)
	if err != nil {
		r.err = err
		return r
	}
	longest := timeout + time.Minute
	if p.bochs {
		longest *= bochsSlowness
	}
	for _, pkg := range p.tests(b.packages) {
		limit, cancel := context.WithTimeout(ctx, longest)
		out, cpu, err := run(limit, &pkg)
		cancel()
		r.run += cpu
		r.times = append(r.times, testTime{pkg.path, "in all, by time of the CPU", cpu})
		if err == nil {
			err = r.read(out, &pkg)
		}
		if err != nil {
			r.err, r.log = fmt.Errorf("%s: %w", pkg.path, err), out
			break
		}
	}
	if r.err == nil {
		r.err = r.check(p)
	}
	return r
}

// runner builds what the platform's tests need and returns what runs them. It adds the time of the
// CPU that the build took.
func (b *builder) runner(ctx context.Context, p *platform, timeout time.Duration, took *time.Duration) (runner, error) {
	dir, err := b.binaries(ctx, p, took)
	switch {
	case err != nil:
		return nil, err
	case p.bochs:
		return b.machine(ctx, p, dir, took)
	}
	wazero := ""
	if p.arch == "wasm" {
		if wazero, err = b.wazero(ctx, took); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context, pkg *testedPackage) ([]byte, time.Duration, error) {
		binary := filepath.Join(dir, path.Base(pkg.path)+".test")
		words := append(p.command(b.root, dir, pkg.path, wazero, binary), pkg.flags()...)
		words = append(words, "-test.timeout="+timeout.String())
		cmd := exec.CommandContext(ctx, words[0], words[1:]...)
		cmd.Dir = filepath.Join(b.root, pkg.path)
		cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "ATTN_TIER=") })
		out, err := cmd.CombinedOutput()
		return out, cpuTime(cmd.ProcessState), err
	}, nil
}

// command returns the command that runs the test binary of a package as a process of this
// machine. tmp is a folder for temporary files.
func (p *platform) command(root, tmp, pkg, wazero, binary string) []string {
	switch {
	case p.qemu != "":
		return []string{p.emulator(), "-cpu", cmp.Or(p.model, p.cpu), binary}
	case p.arch == "wasm":
		return []string{wazero, "run", "-mount=" + root + ":/attn:ro", "-mount=" + tmp + ":/tmp", "-env=PWD=" + path.Join("/attn", pkg), binary}
	}
	return []string{binary}
}

// machine starts a machine and returns what awaits the output of its tests, package by
// package. The machine ends with the context.
func (b *builder) machine(ctx context.Context, p *platform, binaries string, took *time.Duration) (runner, error) {
	dir, err := b.get(p.cpu, func(dir string) error { return b.cd(ctx, dir, binaries, p.tests(b.packages), took) })
	if err != nil {
		return nil, err
	}
	m, err := p.start(ctx, dir)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, _ *testedPackage) ([]byte, time.Duration, error) {
		defer context.AfterFunc(ctx, m.kill)()
		out, err := m.output()
		if err != nil && ctx.Err() != nil {
			err = ctx.Err()
		}
		return out, m.took(), err
	}, nil
}

// cpuTime returns the time of the CPU that a process took, with the processes that it waited for. A
// busy machine does not change it much.
func cpuTime(s *os.ProcessState) time.Duration {
	if s == nil { // it did not start
		return 0
	}
	return s.UserTime() + s.SystemTime()
}
