package embed

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/attn-go/attn/models/internal/signals"
)

// asCommand is the environment variable that makes the test binary the command.
const asCommand = "ATTN_TEST_EMBED"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		Main(os.Args[1:])
		return
	}
	os.Exit(m.Run())
}

// start starts the command as a process of its own, whose standard input is stdin.
func start(t *testing.T, args ...string) (c *exec.Cmd, stdin io.WriteCloser, report *strings.Builder) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c, report = exec.Command(exe, args...), &strings.Builder{}
	c.Env = append(os.Environ(), asCommand+"=1")
	c.Stderr = report
	if stdin, err = c.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill() })
	return c, stdin, report
}

// TestSignals: after SIGINT, SIGTERM and SIGHUP the file is complete, nothing else is left, and the
// status says the signal.
func TestSignals(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot send these signals")
	}
	model := tinyModel(t)
	for _, signal := range signals.NotIgnored(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP) {
		folder := t.TempDir()
		c, stdin, report := start(t, "-model", model, "-o", filepath.Join(folder, "x.npy"))
		if _, err := io.WriteString(stdin, "a\n"); err != nil {
			t.Fatal(err)
		}
		for files := 0; files == 0; { // until the command writes
			list, err := os.ReadDir(folder)
			if err != nil {
				t.Fatal(err)
			}
			files = len(list)
			time.Sleep(time.Millisecond)
		}
		if err := c.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		c.Wait()
		if got := c.ProcessState.ExitCode(); got != 128+int(signal) {
			t.Errorf("%v: status %d, want %d; report %q", signal, got, 128+int(signal), report)
		}
		list, err := os.ReadDir(folder)
		if err != nil || len(list) != 1 || list[0].Name() != "x.npy" {
			t.Errorf("%v: left %v, %v, want x.npy", signal, list, err)
		}
		if !strings.Contains(report.String(), "embed: not all texts are done: stopped by a signal: "+signal.String()) {
			t.Errorf("%v: report %q", signal, report)
		}
	}
}

// TestWrongTier: a tier in ATTN_TIER that is none is said before the model is read, and not to be
// the model's fault.
func TestWrongTier(t *testing.T) {
	t.Setenv("ATTN_TIER", "sse9")
	for _, model := range []string{tinyModel(t), filepath.Join(t.TempDir(), "none")} {
		c, _, report := start(t, "-model", model, "-text", "a")
		if err := c.Wait(); err == nil || !strings.HasPrefix(report.String(), `attn embed: kernel.Exec.Check: ATTN_TIER: "sse9"`) {
			t.Errorf("%s: %v, %s", model, err, report)
		}
	}
}
