package chat

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/attn-go/attn/models/command"
)

// countingMode counts how often the terminal is changed.
type countingMode struct{ entered, left int }

func (m *countingMode) enter() error { m.entered++; return nil }
func (m *countingMode) leave()       { m.left++ }

// Arrows and other keys edit a line and find the lines before; the terminal is as it was after
// each of them.
func TestEditor(t *testing.T) {
	const left, up, home, end = "\x1b[D", "\x1b[A", "\x1b[H", "\x1b[F"
	var out bytes.Buffer
	m := &countingMode{}
	in := "helo" + left + "l\r" + up + "!\r" + "orld" + home + "w" + end + ".\r" + "x\x7fy\r" + "\x04"
	e := newEditor(strings.NewReader(in), &out, m, func() (int, int) { return 80, 24 })
	for i, want := range []string{"hello", "hello!", "world.", "y"} {
		if got, err := e.read(); got != want || err != nil {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
		if m.entered != i+1 || m.left != i+1 {
			t.Errorf("the terminal was changed %d times and put back %d times, want %d", m.entered, m.left, i+1)
		}
	}
	if _, err := e.read(); err != io.EOF {
		t.Errorf("^D: %v", err)
	}
	e = newEditor(strings.NewReader("begun\x03"), &out, m, func() (int, int) { return 0, 0 })
	if _, err := e.read(); !errors.As(err, new(*command.SignalError)) {
		t.Errorf("^C: %v", err)
	}
	if m.entered != m.left {
		t.Errorf("the terminal was changed %d times and put back %d times", m.entered, m.left)
	}
}
