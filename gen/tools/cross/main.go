// Command cross runs the short tests of the library on emulated CPUs of many architectures,
// and prints what ran where.
//
//	go run ./gen/tools/cross [-j 2] [-deep] [-only arm64,Haswell] [-timeout 10m] [-slowest 20]
//
// Not every platform runs every test, as an emulator takes 10 to 100 times as long as a CPU:
//
//   - No emulated CPU runs tests of memory, of how threads share work, and of a few packages whose
//     result depends on no CPU (skip and only in packages.go).
//   - Cortex-a57 and 386 run all other tests. So does s390x with -deep; else it has no sweeps.
//   - Brief platforms (platforms.go), which are the CPUs of amd64 without AVX-512, leave out the
//     sweeps over very many shapes and options, and the packages that are tested on some
//     architectures alone. They run kernels that a machine with AVX2 runs completely. The one with
//     the generic tier alone also leaves out the comparison of kernels with package fallback, as it
//     would compare it with itself.
//   - Only -deep runs the architectures that add no new kind to those above (goldentests.go). A
//     machine that runs AVX2 or AVX-512 itself makes an eighth of the calls of their kernels on the
//     emulated CPUs, and all of them with -deep.
//   - Architectures of which others have all that matters to this code run the list of goldenTests,
//     RISC-V without vectors the list of receiptTests, and arm64's max dotTests
//     (goldentests.go).
//   - The machine with AVX-512 runs the list of bochsTests: all kernels over all remainders, but
//     half of the calls of products without -deep, and the golden tests.
//   - RISC-V with vectors runs the list of vectorTests: the kernels of its tier that are in
//     assembly over all remainders, and the golden tests.
//
// The output lists what was left out where.
//
// It needs Linux. For 386 it needs an x86-64 machine, as that runs without an emulator. It
// installs missing emulators by apt: qemu-user for single processes, and for AVX-512, which
// only Bochs has, a whole machine with a Linux kernel of Debian. WebAssembly runs under
// wazero, whose version tools/go.mod pins. It exits with 1 if a test fails, if a platform
// cannot be tested, or if a test did not run that it knows by name.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

func main() {
	var (
		jobs    = flag.Int("j", min(2, runtime.NumCPU()), "how many platforms to test at once")
		only    = flag.String("only", "", "test only these architectures or CPU models, like arm64,corei7_icelake_u (default all)")
		timeout = flag.Duration("timeout", 30*time.Minute, "limit for the tests of each package")
		deep    = flag.Bool("deep", false, "test all platforms, each with all of its tests, whatever this machine runs natively")
		slowest = flag.Int("slowest", 0, "how many of each platform's slowest tests to print")
	)
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	code, err := cross(ctx, *jobs, *only, *deep, *timeout, *slowest)
	if err != nil {
		fmt.Fprintln(os.Stderr, "cross:", err)
	}
	stop()
	os.Exit(code)
}

// cross tests the platforms that only and deep choose. It returns the exit code: 1 if one failed, 2
// if nothing could be tested.
func cross(ctx context.Context, jobs int, only string, deep bool, timeout time.Duration, slowest int) (int, error) {
	chosen, err := choose(only, deep, cpuFlags())
	if err != nil {
		return 2, err
	}
	if runtime.GOOS != "linux" {
		return 2, errors.New("the emulators need Linux")
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

	packages, err := allPackages(root)
	if err != nil {
		return 2, err
	}
	start := time.Now()
	b := &builder{root: root, dir: dir, chosen: chosen, packages: packages}
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
	for _, i := range longestFirst(chosen) {
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
	printLeftOut(chosen, packages)
	for i := range results {
		results[i].printSlowest(&chosen[i], slowest)
	}
	fmt.Printf("\n%d of %d platforms passed in %s\n", len(chosen)-failed, len(chosen), seconds(time.Since(start)))
	if failed > 0 {
		return 1, nil
	}
	return 0, nil
}

// longestFirst returns the indexes of the platforms in the order in which they start, so that
// no long one is left alone at the end.
func longestFirst(chosen []platform) []int {
	order := make([]int, len(chosen))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(chosen[y].took, chosen[x].took) })
	return order
}

// choose returns the platforms of the architectures and CPU models in the list, all for an empty
// list with deep, and one for each kind for an empty list alone. Without deep, a platform makes
// fewer calls if a machine with these flags of /proc/cpuinfo runs its tiers natively.
func choose(list string, deep bool, flags string) ([]platform, error) {
	chosen, err := named(list)
	if list == "" && !deep {
		chosen = slices.DeleteFunc(chosen, func(p platform) bool { return p.deep })
	}
	for i := range chosen {
		p := &chosen[i]
		p.deepSweeps = p.deepSweeps && !deep
		switch {
		case deep:
			p.makeAllCalls()
		case p.isNative(flags):
			p.thin()
		}
	}
	return chosen, err
}

// named returns the platforms of the architectures and CPU models in the list, or all of them.
func named(list string) ([]platform, error) {
	if list == "" {
		return slices.Clone(platforms), nil
	}
	var chosen []platform
	for name := range strings.SplitSeq(list, ",") {
		n := len(chosen)
		for _, p := range platforms {
			if p.arch == name || p.cpu == name {
				chosen = append(chosen, p)
			}
		}
		if len(chosen) == n {
			return nil, fmt.Errorf("-only %s: unknown architecture or CPU model", name)
		}
	}
	return chosen, nil
}
