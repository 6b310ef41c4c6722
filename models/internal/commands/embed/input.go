package embed

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"

	"github.com/attn-go/attn/models/internal/passage"
)

// A line is a text and where it comes from: a line of a file, several of them, or a -text.
type line struct {
	text   string
	file   string // "" for a -text and for standard input
	number int    // of its first line, from 1
	last   int    // of its last line
	isText bool   // is a -text
	bytes  int    // that it took of the input
	tokens int    // that it has, once they are counted
	cut    bool   // the model does not see all of them

	before, after []string // lines around it, as many as are shown
}

// where returns "FILE:NUMBER" or "FILE:NUMBER-NUMBER", as a terminal may show it.
func (l *line) where() string {
	if l.number == 0 {
		return l.name()
	}
	return l.name() + ":" + l.numbers()
}

// name returns the name of the file, or what else is unmistakable.
func (l *line) name() string {
	switch {
	case l.isText:
		return "-text"
	case l.file == "":
		return "stdin"
	}
	return passage.Escape(l.file)
}

// numbers returns the number of a line, or of the first and the last one.
func (l *line) numbers() string {
	if l.last > l.number {
		return fmt.Sprintf("%d-%d", l.number, l.last)
	}
	return strconv.Itoa(l.number)
}

// An input yields the passages of all files. Another goroutine reads ahead.
type input struct {
	lines chan line // closed at the end, after err is set
	err   error
	bytes int64 // of all files, -1 if that is unknown
	open  []io.Closer

	passages   passage.Options
	skipBinary bool
	mu         sync.Mutex
	binary     []string // files that were left out
}

// readAhead is how many lines are read before they are needed.
const readAhead = 2 * chunkLines

// open opens all files before it reads the first, so that a wrong name is found at once.
func (c *config) open(ctx context.Context, stdin io.Reader) (*input, error) {
	in := &input{lines: make(chan line, readAhead), passages: c.Passages, skipBinary: c.IsQuery}
	var readers []io.Reader
	for _, name := range c.Inputs.Files {
		r, err := c.Inputs.Open(ctx, name, stdin)
		if err == nil {
			readers, in.open = append(readers, r), append(in.open, r)
			err = in.look(r, name)
		}
		if err != nil {
			in.close()
			return nil, err
		}
	}
	go func() {
		defer close(in.lines)
		for i, text := range c.Inputs.Texts {
			if !in.send(ctx, line{text: text, number: i + 1, isText: true}) {
				return
			}
		}
		for i, r := range readers {
			name := c.Inputs.Files[i]
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

// read sends the passages of a file.
func (in *input) read(ctx context.Context, r io.Reader, name string) error {
	r, binary, err := passage.Binary(r)
	switch {
	case err != nil:
		return err
	case binary && in.skipBinary:
		in.skip(name)
		return nil
	case binary:
		return notText(name)
	}
	for p, err := range passage.Read(r, in.passages) {
		if err != nil {
			return err
		}
		l := line{text: p.Text, file: name, number: p.First, last: p.Last, bytes: p.Bytes, before: p.Before, after: p.After}
		if !in.send(ctx, l) {
			return ctx.Err()
		}
	}
	return nil
}

// look adds the size of a file, if that is known, and finds one that looks binary before others are
// read.
func (in *input) look(r io.Reader, name string) error {
	f, ok := r.(*os.File)
	if !ok {
		in.bytes = -1
		return nil
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if in.bytes >= 0 {
		in.bytes += info.Size()
	}
	if in.skipBinary {
		return nil
	}
	_, binary, err := passage.Binary(io.NewSectionReader(f, 0, info.Size()))
	if err == nil && binary {
		err = notText(name)
	}
	return err
}

// notText is the error of a binary file whose lines would be embedded.
func notText(name string) error {
	return fmt.Errorf("%s is a binary file, or text in UTF-16: want text in UTF-8", (&line{file: name}).name())
}

// skip remembers that a binary file was left out.
func (in *input) skip(name string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.binary = append(in.binary, (&line{file: name}).name())
}

// report says which files were left out.
func (in *input) report(w io.Writer) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for i, name := range in.binary {
		if i == 3 {
			fmt.Fprintf(w, "skipped %d more binary files\n", len(in.binary)-i)
			break
		}
		fmt.Fprintf(w, "skipped %s, a binary file\n", name)
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
