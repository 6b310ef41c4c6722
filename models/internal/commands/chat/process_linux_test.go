package chat

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/attn-go/attn/models/internal/signals"
)

// asCommand is the environment variable that makes the test binary the command.
const asCommand = "ATTN_TEST_CHAT"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		Main(os.Args[1:])
		return
	}
	os.Exit(m.Run())
}

// process returns the command as a process of its own.
func process(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(exe, args...)
	c.Env = append(os.Environ(), asCommand+"=1")
	t.Cleanup(func() {
		if c.Process != nil {
			c.Process.Kill()
		}
	})
	return c
}

// openTerminal returns both ends of a terminal: what a person has and what the program has.
func openTerminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("NOT RUN: there are no terminals here: %v", err)
	}
	if err := unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { person.Close(); program.Close() })
	return person, program
}

// A device that is no terminal has no conversation, nor does an empty prompt.
func TestNoPrompt(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	_, terminal := openTerminal(t)
	for _, run := range []struct {
		stdin *os.File
		args  []string
	}{{null, nil}, {terminal, []string{"-text", ""}}} {
		c := process(t, append(run.args, "-model", tiny(t))...)
		c.Stdin = run.stdin
		report, err := c.CombinedOutput()
		if c.ProcessState.ExitCode() != 2 || !strings.Contains(string(report), "the prompt is empty") {
			t.Errorf("%q: %v, %q, want status 2 and an empty prompt", run.args, err, report)
		}
	}
}

// A signal ends -lines with all answers as far as they are, also those that only begin to be
// printed.
func TestLinesSignals(t *testing.T) {
	for _, signal := range signals.NotIgnored(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP) {
		c := process(t, "-model", tiny(t), "-lines", "-temp", "1", "-max", "500")
		c.Stdin = strings.NewReader(strings.Repeat("good morning\n", 20000)) // more than is ever answered
		stdout, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		shown := &screen{r: stdout}
		shown.until(t, "--- good morning\n")
		if err := c.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		rest, err := io.ReadAll(stdout)
		if err != nil {
			t.Fatal(err)
		}
		c.Wait()
		if got := c.ProcessState.ExitCode(); got != 128+int(signal) {
			t.Errorf("%v: status %d, want %d", signal, got, 128+int(signal))
		}
		if text := shown.text + string(rest); strings.Count(text, "--- good morning\n")%batch != 0 || !strings.HasSuffix(text, "\n") {
			t.Errorf("%v: %d answers, want those of all %d lines that are answered side by side", signal, strings.Count(text, "--- good morning\n"), batch)
		}
	}
}

// At a terminal, arrows edit the line and are not printed. SIGTERM at the prompt ends the command
// and puts the terminal back as it was.
func TestTerminal(t *testing.T) {
	person, program := openTerminal(t)
	before, err := unix.IoctlGetTermios(int(program.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	c := process(t, "-model", tiny(t), "-max", "5")
	c.Stdin, c.Stderr = program, program
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	shown := &screen{r: person}
	shown.until(t, "> ")
	until(func() bool { // the keys are pressed when the editor waits for them
		now, err := unix.IoctlGetTermios(int(program.Fd()), unix.TCGETS)
		return err == nil && now.Lflag&unix.ICANON == 0
	})
	io.WriteString(person, "/hexp\x1b[D\x7fl\r")
	shown.until(t, "/clear  begins a new conversation")
	shown.until(t, "> ")
	if strings.Contains(shown.text, "^[[D") {
		t.Errorf("the terminal shows %q", shown.text)
	}
	until(func() bool {
		now, err := unix.IoctlGetTermios(int(program.Fd()), unix.TCGETS)
		return err == nil && now.Lflag&unix.ICANON == 0
	})
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	c.Wait()
	after, err := unix.IoctlGetTermios(int(program.Fd()), unix.TCGETS)
	if err != nil || *after != *before {
		t.Errorf("the terminal is not as it was: %+v, %v, want %+v", after, err, before)
	}
	if got := c.ProcessState.ExitCode(); got != 128+int(syscall.SIGTERM) {
		t.Errorf("status %d, want 143", got)
	}
}

// until waits for a condition; go test ends a test that hangs.
func until(f func() bool) {
	for !f() {
		time.Sleep(time.Millisecond)
	}
}

// A screen is what a terminal has shown.
type screen struct {
	r    io.Reader
	text string
	seen int
}

// until reads until the screen shows a text after what was found before.
func (s *screen) until(t *testing.T, want string) {
	t.Helper()
	for b := make([]byte, 1024); ; {
		if i := strings.Index(s.text[s.seen:], want); i >= 0 {
			s.seen += i + len(want)
			return
		}
		n, err := s.r.Read(b)
		if err != nil {
			t.Fatalf("the terminal shows %q, want %q: %v", s.text, want, err)
		}
		s.text += string(b[:n])
	}
}
