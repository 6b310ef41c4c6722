package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Inputs are where the texts of a command come from. One rule holds for all commands: arguments
// are files, of which - is the standard input; -text gives a text itself; without any of them
// the standard input is read.
type Inputs struct {
	Texts []string // of -text
	Files []string // the arguments; "-" is the standard input
}

// Flag defines the flag -text, which may be repeated.
func (in *Inputs) Flag(fs *flag.FlagSet, usage string) {
	fs.Func("text", usage, func(s string) error {
		in.Texts = append(in.Texts, s)
		return nil
	})
}

// Take takes the arguments of a command line that was parsed for files. Without any, and without
// a -text, the standard input is the only file.
func (in *Inputs) Take(fs *flag.FlagSet) {
	if in.Files = fs.Args(); len(in.Files) == 0 && len(in.Texts) == 0 {
		in.Files = []string{"-"}
	}
}

// Check returns an error if a file is not there or is a folder. It writes a hint to report if a
// text is the name of a file.
func (in *Inputs) Check(report io.Writer) error {
	for _, name := range in.Files {
		if err := checkFile(name); err != nil {
			return err
		}
	}
	for _, text := range in.Texts {
		if info, err := os.Stat(text); err == nil && !info.IsDir() {
			fmt.Fprintf(report, "hint: -text %s is taken as a text, and there is a file of this name: without -text it is read\n", text)
		}
	}
	return nil
}

// CheckOutput returns a usage error if no file can be there where a flag says that one is written:
// in no folder, or in the place of one. So a command can say it before it works for hours. "" and
// "-" are no files.
func CheckOutput(flag, output string) error {
	if output == "" || output == "-" {
		return nil
	}
	if info, err := os.Stat(output); err == nil && info.IsDir() {
		return Usage(fmt.Errorf("%s is %s, a folder: want a file", flag, output))
	}
	if info, err := os.Stat(filepath.Dir(output)); err != nil || !info.IsDir() {
		return Usage(fmt.Errorf("%s is %s: there is no folder %s", flag, output, filepath.Dir(output)))
	}
	return nil
}

// CheckOutput is the function of this name and [Inputs.CheckApart].
func (in *Inputs) CheckOutput(flag, output string) error {
	if err := CheckOutput(flag, output); err != nil {
		return err
	}
	return in.CheckApart(flag, output)
}

// CheckApart returns a usage error if the file that a flag names is also read: writing it would
// destroy an input. Links to one file are that file. It is for outputs whose folder is made later.
func (in *Inputs) CheckApart(flag, output string) error {
	out, err := os.Stat(output)
	if err != nil {
		return nil
	}
	for _, name := range in.Files {
		if info, err := os.Stat(name); err == nil && name != "-" && os.SameFile(info, out) {
			return Usage(fmt.Errorf("%s is %s, which is read: want another file", flag, output))
		}
	}
	return nil
}

// checkFile returns an error if there is no file of this name.
func checkFile(name string) error {
	if name == "-" {
		return nil
	}
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: arguments are files, and -text gives a text", err)
	case err == nil && info.IsDir():
		return fmt.Errorf("%s is a folder, want a file", name)
	}
	return err
}

// Open opens a file. The standard input is stdin, which stays open. A pipe, a terminal and the like
// may wait for what comes: then a read ends with the cause of ctx when ctx does.
func (in *Inputs) Open(ctx context.Context, name string, stdin io.Reader) (io.ReadCloser, error) {
	if name == "-" {
		return interruptible(ctx, func() (io.ReadCloser, error) { return io.NopCloser(stdin), nil }), nil
	}
	return Open(ctx, name)
}

// Open is [Inputs.Open] for a file that is no input, such as one that a flag names.
func Open(ctx context.Context, name string) (io.ReadCloser, error) {
	info, err := os.Stat(name)
	if err != nil || info.Mode().IsRegular() {
		return os.Open(name)
	}
	return interruptible(ctx, func() (io.ReadCloser, error) { return os.Open(name) }), nil // which waits for a writer
}

// mostRead is the largest file that ReadFile takes: a device may have no end.
const mostRead = 64 << 20

// ReadFile reads a file that [Open] opens. A file of more than 64 MiB is an error.
func ReadFile(ctx context.Context, name string) ([]byte, error) {
	f, err := Open(ctx, name)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, mostRead+1))
	if err == nil && len(data) > mostRead {
		err = fmt.Errorf("%s has more than %d bytes", name, mostRead)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	return data, nil
}

// interruptible reads what open opens on another goroutine, until ctx ends or it is closed.
func interruptible(ctx context.Context, open func() (io.ReadCloser, error)) io.ReadCloser {
	r, w := io.Pipe()
	context.AfterFunc(ctx, func() { w.CloseWithError(context.Cause(ctx)) })
	go func() {
		f, err := open()
		if err == nil {
			_, err = io.Copy(w, f)
			err = errors.Join(err, f.Close())
		}
		w.CloseWithError(err)
	}()
	return r
}

// Lines returns all texts and then the lines of all files that are not blank.
func (in *Inputs) Lines(ctx context.Context, stdin io.Reader) ([]string, error) {
	files, err := (&Inputs{Files: in.Files}).ReadAll(ctx, stdin)
	if err != nil {
		return nil, err
	}
	lines := slices.Clone(in.Texts)
	for line := range strings.Lines(files) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines, nil
}

// ReadAll returns all texts and then the contents of all files. What follows something else begins
// on a new line.
func (in *Inputs) ReadAll(ctx context.Context, stdin io.Reader) (string, error) {
	parts := slices.Clone(in.Texts)
	for _, name := range in.Files {
		f, err := in.Open(ctx, name, stdin)
		if err != nil {
			return "", err
		}
		text, err := io.ReadAll(f)
		if err := errors.Join(err, f.Close()); err != nil {
			return "", err
		}
		parts = append(parts, string(text))
	}
	var all strings.Builder
	for i, part := range parts {
		if i > 0 && !strings.HasSuffix(parts[i-1], "\n") {
			all.WriteByte('\n')
		}
		all.WriteString(part)
	}
	return all.String(), nil
}
