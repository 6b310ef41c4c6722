// Command cross runs the short tests of the kernels, the engine and the pool on every
// architecture that an emulator is at hand for, and prints what ran where.
//
//	go run ./tools/cross [-j 2] [-only arm64,s390x] [-timeout 5m]
//
// It needs Linux, and for 386 an x86-64 machine, as qemu cannot run that. Missing
// emulators are installed by apt; WebAssembly runs under wazero, whose version
// tools/go.mod pins. A platform that cannot be tested and a test that did not run
// are failures: it exits with 1 then.
package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

// packages are those whose tests run, each with the tests that must be among
// those that passed: a renamed test shall not fall out unnoticed.
var packages = []testedPackage{
	{"fallback", []string{"TestFMASpecial", "TestFMAHiddenTies", "TestFMAOperands", "TestExp2Definition", "TestMergeStats", "TestGemm"}, nil},
	{"internal/ukernel", []string{"TestKernels", "TestGuard", "TestAllKernels", "TestExp2", "TestFunctions", "TestNarrowAll", "TestChoose"}, nil},
	{"kernel", []string{"TestGolden", "TestContract", "TestHiddenNeverMatters", "TestGuardOptions", "TestDefaultTierErrors"}, nil},
	{"internal/engine", []string{"TestPrefetchHints", "TestWideRowsAreKept"}, nil},
	{"internal/parallel", []string{"TestEachTaskIsDoneOnce", "TestBadParallelFor", "TestSubmittedJobIsDone", "TestThreads"}, nil},
	{"linear", []string{"TestApply", "TestGuard", "TestWidening", "TestProject", "TestThreadsShareTheWork"}, nil},
	{"rope", []string{"TestGolden", "TestCosSin", "TestApply", "TestAngleTimes"}, nil},
	{"numeric", []string{"TestSliceFunctions", "TestSixteenBitsStay", "TestQuantizeInt8"}, nil},
	{"kvcache", []string{"TestWindow", "TestBatchesAndChunks", "TestErrors"}, nil},
	{"layer", []string{"TestRefs"}, []string{"arm64"}},
	{"examples/gobytes", []string{"TestLogits", "TestSameBits", "TestGreedy"}, []string{"arm64"}},
	{"examples/dates", []string{"TestReference", "TestSameBits", "TestTranslate"}, []string{"arm64"}},
}

// native matches tests of what no architecture changes: allocations, how work is shared
// out, and what other tests cover with less work.
const native = "Alloc|TestParallelFor$|LateTask|Concurrent|Types$|TypesNaN|Split|ManyThreads|Partials|Pages$|ChunkedPrefill|Oracle|Mutants|" +
	"CausalIsLengths|BandedMask|ApplyLarge|NonFinite|LookAhead|TestCache"

type testedPackage struct {
	name   string
	must   []string
	arches []string // nil: all
}

// tested are the packages whose tests run on the platform.
func (p *platform) tested() []testedPackage {
	return slices.DeleteFunc(slices.Clone(packages), func(pkg testedPackage) bool {
		return pkg.arches != nil && !slices.Contains(pkg.arches, p.arch)
	})
}

// A result is what a platform's tests said.
type result struct {
	tiers        []string // that were tested
	fma          string   // of fallback: "one instruction" or "emulated"
	tests, cases int      // passed: top-level tests, and these with all subtests
	skipped      []string // top-level tests and what they said
	build, run   time.Duration
	log          []byte // of what failed
	err          error
}

func main() {
	var (
		jobs    = flag.Int("j", min(2, runtime.NumCPU()), "platforms to test at once")
		only    = flag.String("only", "", "test these architectures alone, like arm64,s390x (default all)")
		timeout = flag.Duration("timeout", 5*time.Minute, "for each package's tests")
	)
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	code, err := cross(ctx, *jobs, *only, *timeout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "cross:", err)
	}
	stop()
	os.Exit(code)
}

// cross tests the platforms that only names and returns the exit code: 1 if one
// failed, 2 if nothing could be tested at all.
func cross(ctx context.Context, jobs int, only string, timeout time.Duration) (int, error) {
	chosen, err := choose(only)
	if err != nil {
		return 2, err
	}
	if runtime.GOOS != "linux" {
		return 2, errors.New("the emulators (qemu-user) need Linux")
	}
	root, err := moduleRoot()
	if err != nil {
		return 2, err
	}
	dir, err := os.MkdirTemp("", "cross")
	if err != nil {
		return 2, err
	}
	defer os.RemoveAll(dir)
	if err := install(ctx, chosen); err != nil {
		return 2, err
	}

	start := time.Now()
	b := &builder{root: root, dir: dir}
	results := make([]result, len(chosen))
	var wg sync.WaitGroup
	next := make(chan int)
	for range max(jobs, 1) {
		wg.Go(func() {
			for i := range next {
				p := &chosen[i]
				results[i] = test(ctx, b, p, timeout)
				fmt.Printf("%-4s %s, %s (%s)\n", results[i].verdict(), p.target(), p.cpu, seconds(results[i].build+results[i].run))
			}
		})
	}
	for i := range chosen {
		next <- i
	}
	close(next)
	wg.Wait()

	failed := 0
	for i, r := range results {
		if r.err != nil {
			failed++
			fmt.Printf("\n=== FAIL %s, %s: %v\n%s", chosen[i].target(), chosen[i].cpu, r.err, tail(r.log, 100))
		}
	}
	fmt.Println()
	table(chosen, results)
	fmt.Printf("\n%d of %d platforms passed in %s\n", len(chosen)-failed, len(chosen), seconds(time.Since(start)))
	if failed > 0 {
		return 1, nil
	}
	return 0, nil
}

// choose returns the platforms of the architectures in a list, or all.
func choose(list string) ([]platform, error) {
	if list == "" {
		return platforms, nil
	}
	var chosen []platform
	for arch := range strings.SplitSeq(list, ",") {
		n := len(chosen)
		for _, p := range platforms {
			if p.arch == arch {
				chosen = append(chosen, p)
			}
		}
		if len(chosen) == n {
			return nil, fmt.Errorf("-only %s: no such architecture here", arch)
		}
	}
	return chosen, nil
}

func moduleRoot() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/attn-go/attn").Output()
	if err != nil {
		return "", fmt.Errorf("run it from the repository: go list: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// install gets the emulators that the platforms need and that are not there.
func install(ctx context.Context, chosen []platform) error {
	missing := func() (names []string) {
		for _, p := range chosen {
			if name := p.emulator(); name != "" && !slices.Contains(names, name) {
				if _, err := exec.LookPath(name); err != nil {
					names = append(names, name)
				}
			}
		}
		return names
	}
	names := missing()
	if names == nil {
		return nil
	}
	fmt.Printf("installing qemu-user-static, for %s\n", strings.Join(names, ", "))
	for _, args := range []string{"apt-get update -q", "apt-get install -q -y --no-install-recommends qemu-user-static"} {
		words := append([]string{"env", "DEBIAN_FRONTEND=noninteractive"}, strings.Fields(args)...)
		if os.Geteuid() != 0 {
			words = append([]string{"sudo"}, words...)
		}
		cmd := exec.CommandContext(ctx, words[0], words[1:]...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", args, err, out)
		}
	}
	if names := missing(); names != nil {
		return fmt.Errorf("qemu-user-static has no %s", strings.Join(names, ", "))
	}
	return nil
}

// A builder builds the test binaries, those of each target once, and wazero.
type builder struct {
	root, dir string
	once      sync.Map // name to func() (string, error)
}

// get returns what the function returned that was first given with that name.
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

// binaries returns the folder of the platform's test binaries.
func (b *builder) binaries(ctx context.Context, p *platform) (string, error) {
	return b.get(p.target(), func(dir string) error {
		args := []string{"test", "-c", "-o", dir + "/"}
		for _, pkg := range p.tested() {
			args = append(args, "./"+pkg.name)
		}
		return b.golang(ctx, args, p.env()...)
	})
}

// wazero returns the path of the WebAssembly runtime.
func (b *builder) wazero(ctx context.Context) (string, error) {
	dir, err := b.get("wazero", func(dir string) error {
		return b.golang(ctx, []string{"build", "-C", "tools", "-o", dir + "/", "github.com/tetratelabs/wazero/cmd/wazero"},
			"GOOS=", "GOARCH=")
	})
	return filepath.Join(dir, "wazero"), err
}

func (b *builder) golang(ctx context.Context, args []string, env ...string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = b.root
	cmd.Env = append(os.Environ(), append(env, "CGO_ENABLED=0")...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// test builds and runs a platform's tests.
func test(ctx context.Context, b *builder, p *platform, timeout time.Duration) (r result) {
	start := time.Now()
	dir, err := b.binaries(ctx, p)
	wazero := ""
	if err == nil && p.arch == "wasm" {
		wazero, err = b.wazero(ctx)
	}
	r.build = time.Since(start)
	if err != nil {
		r.err = err
		return r
	}
	start = time.Now()
	for _, pkg := range p.tested() {
		name := filepath.Join(dir, path.Base(pkg.name)+".test")
		words := append(p.command(b.root, dir, pkg.name, wazero, name), "-test.short", "-test.v", "-test.skip="+native, "-test.timeout="+timeout.String())
		limit, cancel := context.WithTimeout(ctx, timeout+time.Minute)
		cmd := exec.CommandContext(limit, words[0], words[1:]...)
		cmd.Dir = filepath.Join(b.root, pkg.name)
		cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "ATTN_TIER=") })
		out, err := cmd.CombinedOutput()
		cancel()
		if err == nil {
			err = r.read(out, pkg.must)
		}
		if err != nil {
			r.err, r.log = fmt.Errorf("%s: %w", pkg.name, err), out
			break
		}
	}
	r.run = time.Since(start)
	if r.err == nil {
		r.err = r.check(p)
	}
	return r
}

var (
	resultLine = regexp.MustCompile(`(?m)^( *)--- (PASS|SKIP|FAIL): (\S+)`)
	tierLine   = regexp.MustCompile(`(?m)^attn: tier (\S+) is tested`)
	fmaLine    = regexp.MustCompile(`(?m)^attn: .*, fma is (one instruction|emulated)`)
	reasonLine = regexp.MustCompile(`^\s+\S+\.go:\d+: (.*)`)
)

// read takes what the tests of a package printed.
func (r *result) read(out []byte, must []string) error {
	text := string(out)
	passed := map[string]bool{}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		m := resultLine.FindStringSubmatch(line)
		switch {
		case m == nil:
		case m[2] == "FAIL":
			return fmt.Errorf("%s failed", m[3])
		case m[2] == "SKIP":
			why := ""
			for j := i - 1; j >= 0 && why == "" && j > i-3; j-- {
				if s := reasonLine.FindStringSubmatch(lines[j]); s != nil {
					why = s[1]
				}
			}
			if m[1] == "" { // the kernels that a tier does not have are subtests
				r.skipped = append(r.skipped, m[3]+": "+cmp.Or(why, "no reason given"))
			}
		default:
			r.cases++
			if m[1] == "" {
				r.tests++
				passed[m[3]] = true
			}
		}
	}
	for _, name := range must {
		if !passed[name] {
			return fmt.Errorf("%s did not run", name)
		}
	}
	for _, m := range tierLine.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(r.tiers, m[1]) { // several packages list them
			r.tiers = append(r.tiers, m[1])
		}
	}
	if m := fmaLine.FindStringSubmatch(text); m != nil {
		r.fma = m[1]
	}
	return nil
}

// check compares what ran with what the platform was to run.
func (r *result) check(p *platform) error {
	if got := strings.Join(r.tiers, " "); got != p.tiers {
		return fmt.Errorf("the tiers %q were tested, want %q", got, p.tiers)
	}
	want := "emulated"
	if p.fused {
		want = "one instruction"
	}
	if r.fma != want {
		return fmt.Errorf("the fma of fallback is %q, want %q", r.fma, want)
	}
	return nil
}

func (r *result) verdict() string {
	if r.err != nil {
		return "FAIL"
	}
	return "ok"
}

// table prints one row for every platform, and then what was skipped.
func table(chosen []platform, results []result) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\tGOOS/GOARCH\tCPU model\tunder\tbits\torder\ttiers that ran\tfma\ttests\tcases\tskipped\tbuild\trun")
	for i, p := range chosen {
		r := &results[i]
		order := "little"
		if p.big {
			order = "big"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\t%d\t%d\t%d\t%s\t%s\n", r.verdict(), p.target(), p.cpu, p.under(), p.bits, order,
			cmp.Or(strings.Join(r.tiers, " "), "-"), cmp.Or(r.fma, "-"), r.tests, r.cases, len(r.skipped), seconds(r.build), seconds(r.run))
	}
	w.Flush()
	for i, p := range chosen {
		for _, s := range results[i].skipped {
			fmt.Printf("skipped on %s, %s: %s\n", p.target(), p.cpu, s)
		}
	}
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.0f s", d.Seconds()) }

// tail returns the last n lines of a log, those left out that say of a test that
// it started or passed.
func tail(log []byte, n int) []byte {
	lines := bytes.SplitAfter(log, []byte("\n"))
	lines = slices.DeleteFunc(lines, func(line []byte) bool {
		line = bytes.TrimLeft(line, " ")
		return bytes.HasPrefix(line, []byte("=== ")) || bytes.HasPrefix(line, []byte("--- PASS"))
	})
	return bytes.Join(lines[max(0, len(lines)-n):], nil)
}
