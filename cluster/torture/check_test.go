//go:build unix

package torture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attn-go/attn/models/encoder/berttest"
)

// Each fault once: the results are those of one machine.
func TestTorture(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT RUN with -short: it builds the command and takes half a minute")
	}
	s := settings{rounds: 1, seed: 1}
	if *long > 0 {
		s.rounds, s.minutes = 0, *long
	}
	var out, report bytes.Buffer
	if err := run(t.Context(), s, &out, &report); err != nil {
		t.Fatalf("%v\n%s\n%s", err, report.String(), out.String())
	}
	t.Log(out.String())
	if n := strings.Count(report.String(), "torture: "); n < len(faults) && s.minutes == 0 {
		t.Errorf("%d outcomes, want %d:\n%s", n, len(faults), report.String())
	}
}

// A command that does not start is an error.
func TestNoCommand(t *testing.T) {
	var out, report bytes.Buffer
	if err := run(t.Context(), settings{rounds: 1, program: filepath.Join(t.TempDir(), "none")}, &out, &report); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// A vector with another bit is no equal one, and neither is a file that lacks one.
func TestCompare(t *testing.T) {
	dir := t.TempDir()
	if err := berttest.New("").Write(dir, "F32"); err != nil {
		t.Fatal(err)
	}
	c, err := newCorpus(t.Context(), dir, filepath.Join(dir, "corpus.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(c.file); err != nil || bytes.Count(text, []byte("\n")) != texts {
		t.Errorf("%d lines, %v", bytes.Count(text, []byte("\n")), err)
	}
	npy := append(binary.LittleEndian.AppendUint16(make([]byte, 8), 118), make([]byte, 118)...)
	npy = append(npy, c.vectors...)
	if err := c.compare(npy); err != nil {
		t.Fatal(err)
	}
	for _, wrong := range [][]byte{nil, npy[:9], npy[:100], npy[:len(npy)-4], append(bytes.Clone(npy), 0, 0, 0, 0)} {
		if c.compare(wrong) == nil {
			t.Errorf("%d bytes are equal", len(wrong))
		}
	}
	npy[len(npy)/2] ^= 1
	if c.compare(npy) == nil {
		t.Error("a bit that is flipped is equal")
	}
}

// Bad outcomes are an error and stand in the table; what missed is no try.
func TestTable(t *testing.T) {
	var out bytes.Buffer
	x := newTable(faults[:2])
	x.add(0, outcome{})
	x.add(0, outcome{errors: 2})
	x.add(1, outcome{missed: true})
	if err := x.finish(&out, nil); err != nil || !strings.Contains(out.String(), "| `embed` | kill -9 of a worker | 2 | 0 | 1 | 1 | 0 | 0 |\n| `attend` | kill -9 of a worker | 0 | 1 | 0 | 0 | 0 | 0 |\n") {
		t.Errorf("%v\n%s", err, out.String())
	}
	for _, bad := range []outcome{{wrong: true}, {never: true}} {
		x := newTable(faults[:1])
		x.add(0, bad)
		if x.finish(&out, nil) == nil {
			t.Errorf("%v is no error", bad)
		}
	}
}
