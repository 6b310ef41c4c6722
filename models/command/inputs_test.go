package command

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestInputs: arguments are files, -text gives a text, and without any of them the standard
// input is read.
func TestInputs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.txt")
	if err := os.WriteFile(file, []byte("one\n\ntwo"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args  []string
		all   string
		lines []string
	}{
		{nil, "in", []string{"in"}},
		{[]string{"-"}, "in", []string{"in"}},
		{[]string{file, "-"}, "one\n\ntwo\nin", []string{"one", "two", "in"}},
		{[]string{file, "-text", "t\nu"}, "t\nu\none\n\ntwo", []string{"t\nu", "one", "two"}},
		{[]string{"-text", ""}, "", []string{""}},
	} {
		in := parsed(t, c.args...)
		all, err := in.ReadAll(t.Context(), strings.NewReader("in"))
		lines, err2 := in.Lines(t.Context(), strings.NewReader("in"))
		if err := errors.Join(err, err2); err != nil || all != c.all || !slices.Equal(lines, c.lines) {
			t.Errorf("%q: %q and %q, %v, want %q and %q", c.args, all, lines, err, c.all, c.lines)
		}
	}
}

// TestReadFile: a file that a flag names is read to its end, but a device has none.
func TestReadFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.json")
	if err := os.WriteFile(file, []byte("{}"), 0o666); err != nil {
		t.Fatal(err)
	}
	if data, err := ReadFile(t.Context(), file); err != nil || string(data) != "{}" {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := ReadFile(t.Context(), filepath.Join(filepath.Dir(file), "b.json")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, err := os.Stat("/dev/zero"); err == nil {
		if _, err := ReadFile(t.Context(), "/dev/zero"); err == nil || !strings.Contains(err.Error(), "/dev/zero has more than 67108864 bytes") {
			t.Errorf("a device without end: %v", err)
		}
	}
}

// TestInputsCheck: a file that is not there, a folder, and a text that is the name of a file.
func TestInputsCheck(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "a.txt")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	var report strings.Builder
	if err := parsed(t, "-text", file, "-text", "a.txt", file, "-").Check(&report); err != nil {
		t.Error(err)
	}
	if want := "hint: -text " + file + " is taken as a text"; !strings.HasPrefix(report.String(), want) || strings.Count(report.String(), "hint") != 1 {
		t.Errorf("report %q, want one line that begins with %q", &report, want)
	}
	if err := parsed(t, "why?").Check(&report); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "why?") || !strings.Contains(err.Error(), "-text gives a text") {
		t.Errorf("a file that is not there: %v", err)
	}
	if err := parsed(t, folder).Check(&report); err == nil || !strings.Contains(err.Error(), folder+" is a folder") {
		t.Errorf("a folder: %v", err)
	}
}

// TestOutputIsInput: an output that is an input is refused, by whatever name.
func TestOutputIsInput(t *testing.T) {
	folder := t.TempDir()
	file, link := filepath.Join(folder, "a.jsonl"), filepath.Join(folder, "b.jsonl")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file, link); err != nil {
		link = file // not all systems let a test make one
	}
	in := parsed(t, "-", file)
	for _, output := range []string{file, link} {
		if err := in.CheckOutput("-o", output); !errors.As(err, new(UsageError)) || !strings.Contains(err.Error(), "-o is "+output) {
			t.Errorf("%s: %v", output, err)
		}
	}
	for _, output := range []string{"", "-", folder, filepath.Join(folder, "none", "new.jsonl")} {
		if err := in.CheckApart("-o", output); err != nil {
			t.Errorf("%q: %v", output, err)
		}
	}
}

// TestOutputFolder: a folder is no file, and a file needs one.
func TestOutputFolder(t *testing.T) {
	folder := t.TempDir()
	for _, output := range []string{"", "-", filepath.Join(folder, "new.jsonl")} {
		if err := parsed(t).CheckOutput("-o", output); err != nil {
			t.Errorf("%q: %v", output, err)
		}
	}
	for output, want := range map[string]string{
		folder:                               "-o is " + folder + ", a folder: want a file",
		filepath.Join(folder, "no", "a.npy"): "there is no folder " + filepath.Join(folder, "no"),
	} {
		if err := parsed(t).CheckOutput("-o", output); !errors.As(err, new(UsageError)) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", output, err, want)
		}
	}
}

func parsed(t *testing.T, args ...string) *Inputs {
	t.Helper()
	fs := flag.NewFlagSet("test", flag.ContinueOnError)
	in := &Inputs{}
	in.Flag(fs, "a `text`")
	if err := Parse(fs, args, nil); err != nil {
		t.Fatal(err)
	}
	in.Take(fs)
	return in
}
