package command

import (
	"bytes"
	"errors"
	"flag"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestParse: help goes to the writer and is no wrong usage, a wrong flag is, and both are
// found as what they are.
func TestParse(t *testing.T) {
	for _, c := range []struct {
		args  string
		usage bool
		want  error // in the chain
		help  string
	}{
		{"-n 3", false, nil, ""},
		{"-h", false, flag.ErrHelp, "how many"},
		{"-n three", true, nil, ""},
		{"-m 3", true, nil, ""},
	} {
		fs := flag.NewFlagSet("test", flag.ContinueOnError)
		n := fs.Int("n", 1, "how many")
		var help bytes.Buffer
		err := Parse(fs, strings.Fields(c.args), &help)
		if errors.As(err, new(UsageError)) != c.usage || !errors.Is(err, c.want) && c.want != nil {
			t.Errorf("%s: error %v", c.args, err)
		}
		if err == nil && *n != 3 {
			t.Errorf("%s: n is %d", c.args, *n)
		}
		if !strings.Contains(help.String(), c.help) || (c.help == "") != (help.Len() == 0) {
			t.Errorf("%s: help %q", c.args, &help)
		}
	}
	for line, want := range map[string][]string{
		"a -n 3 b":        {"a", "b"},
		"-n 3 -- -n -v":   {"-n", "-v"},
		"a -v b --n=3 -":  {"a", "b", "-"},
		"-v a -- b -- -n": {"a", "b", "--", "-n"},
		"-s -- a -n 3":    {"a"},
		"-s -n a":         {"a"},
		"":                nil,
	} {
		fs := flag.NewFlagSet("test", flag.ContinueOnError)
		n := fs.Int("n", 3, "")
		fs.Bool("v", false, "")
		fs.String("s", "", "a value, also one that begins with a dash")
		if err := Parse(fs, strings.Fields(line), nil); err != nil || !slices.Equal(fs.Args(), want) || *n != 3 {
			t.Errorf("%s: arguments %q and n %d, %v, want %q", line, fs.Args(), *n, err, want)
		}
	}
	for _, line := range []string{"a -n", "a -m", "a -n x b"} {
		fs := flag.NewFlagSet("test", flag.ContinueOnError)
		fs.Int("n", 3, "")
		if err := Parse(fs, strings.Fields(line), nil); !errors.As(err, new(UsageError)) {
			t.Errorf("%s: %v, want a usage error", line, err)
		}
	}
	usage := Usage(errors.New("bad"))
	for _, c := range []struct {
		err     error
		message string
		status  int
	}{
		{usage, "x: bad\nRun x -h for help.\n", 2},
		{In("sub", usage), "x: bad\nRun x sub -h for help.\n", 2},
		{In("sub", errors.New("broken")), "x: broken\n", 1},
		{&SignalError{syscall.SIGTERM}, "x: stopped by a signal: terminated\n", 143},
	} {
		if got := message("x", c.err); got != c.message || status(c.err) != c.status {
			t.Errorf("%v: %q with status %d, want %q with %d", c.err, got, status(c.err), c.message, c.status)
		}
	}
	if In("sub", nil) != nil {
		t.Error("no error becomes one")
	}
	cause := errors.New("cause")
	if err := Usage(cause); !errors.Is(err, cause) || err.Error() != "cause" {
		t.Errorf("Usage(cause) is %v", err)
	}
}
