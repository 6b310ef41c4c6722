// Package racetest tests what the race detector says of programs that use the public packages.
package racetest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/attn-go/attn/internal/testutil"
)

// The environment variable programVariable makes the test binary a program, and not a test: a race
// that the detector sees in it must not fail the test.
const programVariable = "ATTN_RACE_PROGRAM"

func TestMain(m *testing.M) {
	if name := os.Getenv(programVariable); name != "" {
		for _, p := range append(racy, correct...) {
			if p.name == name {
				// The detector misses one race in some hundred: of two accesses at the very
				// same time, neither may find the other.
				for range 6 {
					p.run()
				}
				os.Exit(0) // with another status if the detector has seen a race
			}
		}
		panic("no such program: " + name)
	}
	os.Exit(m.Run())
}

// raceBinary returns the path of a test binary with the race detector, this one if it has it.
var raceBinary = sync.OnceValues(func() (string, error) {
	if testutil.Race {
		return os.Executable()
	}
	dir, err := os.MkdirTemp("", "attn-race")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "programs")
	build := exec.Command("go", "test", "-race", "-c", "-o", path, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=1")
	if out, err := build.CombinedOutput(); err != nil {
		os.RemoveAll(dir)
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return path, nil
})

// run runs a program in a process of its own. It returns what the program printed, and
// whether the detector has seen a race.
func run(t *testing.T, p program, tier string) (printed string, raced bool) {
	if testing.Short() && !testutil.Race {
		t.Skip("NOT RUN: programs with the race detector; run it with -race, or without -short")
	}
	path, err := raceBinary()
	if err != nil {
		t.Skipf("NOT RUN: programs with the race detector cannot be built here: %v", err)
	}
	const status = 66
	cmd := exec.Command(path)
	cmd.Env = append(os.Environ(), programVariable+"="+p.name, "ATTN_TIER="+tier, fmt.Sprintf("GORACE=exitcode=%d atexit_sleep_ms=0", status))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != 0 && code != status {
		t.Fatalf("%s ended with %v:\n%s", p.name, err, &out)
	}
	return out.String(), cmd.ProcessState.ExitCode() == status
}

// TestRacesAreReported: a program that writes to what a call reads, or reads what it writes,
// without waiting for it, gets a report that names the call.
func TestRacesAreReported(t *testing.T) {
	for _, p := range racy {
		t.Run(p.name, func(t *testing.T) {
			printed, raced := run(t, p, "")
			if !raced || !strings.Contains(printed, "WARNING: DATA RACE") {
				t.Fatalf("no report:\n%s", printed)
			}
			if !strings.Contains(printed, p.call+"(") {
				t.Errorf("the report does not name %s:\n%s", p.call, printed)
			}
		})
	}
}

// TestCorrectProgramsAreNot reported: what a call does not touch may be written to meanwhile.
func TestCorrectProgramsAreNot(t *testing.T) {
	for _, p := range correct {
		for _, tier := range []string{"", "generic"} {
			t.Run(p.name+tier, func(t *testing.T) {
				if printed, raced := run(t, p, tier); raced {
					t.Fatalf("a report on a correct program:\n%s", printed)
				}
			})
		}
	}
}
