package chat

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/attn-go/attn/models/command"
	"golang.org/x/term"
)

// prompt is what a line is asked for with.
const prompt = "> "

// A lineReader asks for lines. At the end the error is io.EOF.
type lineReader interface {
	read() (string, error)
	// stop puts the terminal back as it was, also while read waits.
	stop()
}

// newLineReader returns an editor if both streams are terminals.
func newLineReader(stdin io.Reader, stderr io.Writer) lineReader {
	in, out := file(stdin), file(stderr)
	if in == nil || out == nil || !term.IsTerminal(int(in.Fd())) || !term.IsTerminal(int(out.Fd())) {
		lines := bufio.NewReader(stdin)
		return &plainLines{lines, stderr}
	}
	return newEditor(in, out, &rawMode{fd: int(in.Fd())}, func() (width, height int) {
		width, height, _ = term.GetSize(int(out.Fd()))
		return width, height
	})
}

func file(stream any) *os.File {
	f, _ := stream.(*os.File)
	return f
}

// plainLines are lines as they come.
type plainLines struct {
	in  *bufio.Reader
	out io.Writer
}

func (l *plainLines) read() (string, error) {
	fmt.Fprint(l.out, prompt)
	line, err := l.in.ReadString('\n')
	if err != nil && line == "" {
		fmt.Fprintln(l.out)
		return "", err
	}
	return line, nil
}

func (l *plainLines) stop() {}

// A mode is a state of the terminal, in which keys come as they are pressed.
type mode interface {
	enter() error
	leave()
}

// An editor lets the user edit a line: with arrows, Home, End and the keys of shells, and with
// the lines before. Between two lines the terminal is as it was.
type editor struct {
	mode mode
	size func() (width, height int)
	keys *keys
	term *term.Terminal
}

func newEditor(in io.Reader, out io.Writer, m mode, size func() (width, height int)) *editor {
	e := &editor{mode: m, size: size, keys: &keys{Reader: in}}
	e.term = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{e.keys, out}, prompt)
	return e
}

// read returns a line. After ^C the error is a command.SignalError.
func (e *editor) read() (string, error) {
	if err := e.mode.enter(); err != nil {
		return "", err
	}
	defer e.mode.leave()
	if width, height := e.size(); width > 0 && height > 0 {
		e.term.SetSize(width, height)
	}
	line, err := e.term.ReadLine()
	if errors.Is(err, io.EOF) {
		fmt.Fprint(e.term, "\n")
		if e.keys.interrupted {
			err = &command.SignalError{Signal: os.Interrupt}
		}
	}
	return line, err
}

func (e *editor) stop() { e.mode.leave() }

// keys remembers whether ^C was among what was read last.
type keys struct {
	io.Reader
	interrupted bool
}

func (k *keys) Read(p []byte) (int, error) {
	n, err := k.Reader.Read(p)
	k.interrupted = bytes.IndexByte(p[:n], 3) >= 0
	return n, err
}

// rawMode is the raw mode of a terminal.
type rawMode struct {
	fd    int
	mu    sync.Mutex
	state *term.State // nil if the terminal is as it was
}

func (r *rawMode) enter() (err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state == nil {
		r.state, err = term.MakeRaw(r.fd)
	}
	return err
}

func (r *rawMode) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state != nil {
		term.Restore(r.fd, r.state)
		r.state = nil
	}
}

// readLine returns the next line, or the cause of ctx as soon as it ends.
func readLine(ctx context.Context, r lineReader) (string, error) {
	type result struct {
		line string
		err  error
	}
	c := make(chan result, 1)
	go func() {
		line, err := r.read()
		c <- result{line, err}
	}()
	select {
	case got := <-c:
		return got.line, got.err
	case <-ctx.Done():
		r.stop()
		return "", context.Cause(ctx)
	}
}
