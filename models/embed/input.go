package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// A line is a text and where it comes from.
type line struct {
	text   string
	file   string // "" for a -text and for standard input
	number int    // from 1
	isText bool   // is a -text
	bytes  int    // that it took of the input
	tokens int    // that it has, once they are counted
	cut    bool   // the model does not see all of them
}

// where returns "FILE:NUMBER", or what else is unmistakable.
func (l *line) where() string {
	name := l.file
	switch {
	case l.isText:
		name = "-text"
	case l.number == 0:
		return name
	case name == "":
		name = "stdin"
	}
	return fmt.Sprintf("%s:%d", name, l.number)
}

// An input yields the lines of all files. Another goroutine reads ahead.
type input struct {
	lines chan line // closed at the end, after err is set
	err   error
	bytes int64 // of all files, -1 if that is unknown
	open  []*os.File
}

// readAhead is how many lines are read before they are needed.
const readAhead = 2 * chunkLines

// open opens all files before it reads the first, so that a wrong name is found at once.
func (c *config) open(ctx context.Context, stdin io.Reader) (*input, error) {
	in := &input{lines: make(chan line, readAhead)}
	var readers []io.Reader
	for _, name := range c.inputs.Files {
		if name == "-" {
			readers, in.bytes = append(readers, stdin), -1
			continue
		}
		f, err := os.Open(name)
		if err != nil {
			in.close()
			return nil, err
		}
		readers, in.open = append(readers, f), append(in.open, f)
		info, err := f.Stat()
		if err == nil && info.IsDir() {
			err = fmt.Errorf("%s is a folder, want files", name)
		}
		if err != nil {
			in.close()
			return nil, err
		}
		if !info.Mode().IsRegular() {
			in.bytes = -1
		} else if in.bytes >= 0 {
			in.bytes += info.Size()
		}
	}
	go func() {
		defer close(in.lines)
		for i, text := range c.inputs.Texts {
			if !in.send(ctx, line{text: text, number: i + 1, isText: true}) {
				return
			}
		}
		for i, r := range readers {
			name := c.inputs.Files[i]
			if name == "-" {
				name = ""
			}
			if in.err = in.read(ctx, r, name); in.err != nil {
				return
			}
		}
	}()
	return in, nil
}

func (in *input) close() {
	for _, f := range in.open {
		f.Close()
	}
}

func (in *input) send(ctx context.Context, l line) bool {
	select {
	case in.lines <- l:
		return true
	case <-ctx.Done():
		return false
	}
}

// read sends the lines of a file, without the ends of the lines.
func (in *input) read(ctx context.Context, r io.Reader, name string) error {
	b := bufio.NewReader(r)
	for n := 1; ; n++ {
		text, err := b.ReadString('\n')
		if text != "" && !in.send(ctx, line{text: strings.TrimRight(text, "\r\n"), file: name, number: n, bytes: len(text)}) {
			return ctx.Err()
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// next returns up to n lines: it waits for the first one and takes what else is there. At the
// end it returns none.
func (in *input) next(ctx context.Context, n int) ([]line, error) {
	var lines []line
	for len(lines) < n {
		if len(lines) > 0 && len(in.lines) == 0 {
			break
		}
		select {
		case l, ok := <-in.lines:
			if !ok {
				return lines, in.err
			}
			lines = append(lines, l)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return lines, nil
}
