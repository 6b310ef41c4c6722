package journal

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
)

var header = Header{Version: "1.2", Model: "ab", Width: 2, MaxText: 9}

var entries = []Entry{
	{Key: [32]byte{1}, Source: "a:1", ID: `"x"`, Vector: []float32{1, -2}},
	{Key: [32]byte{2}, Source: "a:2", Reason: "not UTF-8"},
	{Key: [32]byte{3}, Source: "a:3", Vector: []float32{0, 4}},
}

// write makes a journal of all entries.
func write(t testing.TB) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "journal")
	j := reopen(t, path, header, nil)
	for _, e := range entries {
		if err := j.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(j.Sync(), j.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// reopen opens a journal and expects it to have the given entries.
func reopen(t testing.TB, path string, h Header, want []Entry) *Journal {
	t.Helper()
	var got []Entry
	j, err := Open(path, h, func(e Entry) error {
		got = append(got, e)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	return j
}

// TestResume expects all entries again, and those that were appended after that.
func TestResume(t *testing.T) {
	path := write(t)
	j := reopen(t, path, header, entries)
	if !reflect.DeepEqual(j.header, header) {
		t.Errorf("header %+v, want %+v", j.header, header)
	}
	if err := errors.Join(j.Append(entries[1]), j.Sync()); err != nil {
		t.Fatal(err)
	}
	var n int
	if err := j.Read(func(Entry) error { n++; return nil }); err != nil || n != 4 {
		t.Errorf("%d entries and %v, want 4", n, err)
	}
	if err := j.Remove(); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// TestTorn cuts a journal at every byte after the header, and damages each of these. What precedes
// the damage stays, and what is whole behind it is counted.
func TestTorn(t *testing.T) {
	whole, err := os.ReadFile(write(t))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "journal")
	check := func(data []byte, what string, at int) {
		t.Helper()
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		n := 0
		j, err := Open(path, header, func(e Entry) error {
			if !reflect.DeepEqual(e, entries[n]) {
				t.Errorf("byte %d %s: entry %d is %+v", at, what, n, e)
			}
			n++
			return nil
		})
		if err != nil {
			t.Fatalf("byte %d %s: %v", at, what, err)
		}
		if n == len(entries) {
			t.Errorf("byte %d %s: all entries are there", at, what)
		}
		if kept, _ := os.Stat(path); j.Lost() != int64(len(data))-kept.Size() || what == "is damaged" && j.Lost() == 0 {
			t.Errorf("byte %d %s: %d bytes lost", at, what, j.Lost())
		}
		behind := 0
		if what == "is damaged" {
			behind = len(entries) - n - 1
			if whole[at] == '\n' && behind > 0 { // the next line is a part of this one
				behind--
			}
		}
		if j.Behind() != behind {
			t.Errorf("byte %d %s: %d entries behind, want %d", at, what, j.Behind(), behind)
		}
		j.Close()
	}
	step := 1
	if testing.Short() {
		step = 7
	}
	first := bytes.IndexByte(whole, '\n') + 1
	for at := first; at < len(whole); at += step {
		check(whole[:at], "is the end", at)
		bad := append([]byte{}, whole...)
		bad[at] ^= 0x10
		check(bad, "is damaged", at)
	}
}

// TestNoJournal expects that a file of another kind is left alone.
func TestNoJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notes.txt")
	for _, text := range []string{"x", "buy milk", "These are the notes of a long day.\n"} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path, header, nil); !errors.Is(err, ErrMismatch) {
			t.Errorf("got %v, want one of the kind ErrMismatch", err)
		}
		if got, _ := os.ReadFile(path); string(got) != text {
			t.Errorf("the file is %q", got)
		}
	}
}

// TestMismatch expects journals of other runs to be refused and left alone.
func TestMismatch(t *testing.T) {
	path := write(t)
	before, _ := os.ReadFile(path)
	for _, field := range []string{"version", "model", "width", "largest text"} {
		h := header
		switch field {
		case "version":
			h.Version = "1.3"
		case "model":
			h.Model = "ac"
		case "width":
			h.Width = 3
		case "largest text":
			h.MaxText = 8
		}
		var mismatch *kernel.Error
		if _, err := Open(path, h, nil); !errors.As(err, &mismatch) || mismatch.Kind != ErrMismatch || !strings.HasSuffix(mismatch.Where, ": "+field) {
			t.Errorf("%s: got %v", field, err)
		}
	}
	if after, _ := os.ReadFile(path); !reflect.DeepEqual(before, after) {
		t.Error("a refused journal changed")
	}
}

// TestLock expects that only one process has a journal.
func TestLock(t *testing.T) {
	path := write(t)
	j := reopen(t, path, header, entries)
	if _, err := Open(path, header, nil); !errors.Is(err, ErrLocked) {
		t.Errorf("got %v, want %v", err, ErrLocked)
	}
	j.Close()
	reopen(t, path, header, entries).Close()
}

// TestOtherVersion: lines whose sums fit and that are no entries are not cut off, as a program of
// another version wrote them.
func TestOtherVersion(t *testing.T) {
	for _, text := range []string{`{"Key":"x"}`, `{"More":1}`, `{}`, `{} {}`, `entry`} {
		path := write(t)
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = fmt.Fprintf(f, "%08x %s\n", crc32.Checksum([]byte(text), castagnoli), text)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path, header, func(Entry) error { return nil }); err == nil {
			t.Errorf("%s: it is opened", text)
		}
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, before) {
			t.Errorf("%s: the file is another one; %v", text, err)
		}
	}
}

// TestRefused: what a journal could not give back is refused, and the rest is there.
func TestRefused(t *testing.T) {
	path := write(t)
	j := reopen(t, path, header, entries)
	for _, bad := range []Entry{{Source: "a\xff:1", Reason: "r"}, {Source: "a", ID: "\xff", Reason: "r"}, {Source: "a", Reason: strings.Repeat("x", maxLine)}} {
		var e *kernel.Error
		if err := j.Append(bad); !errors.As(err, &e) {
			t.Errorf("%.20q: %v", bad.Source, err)
		}
	}
	last := Entry{Source: "a", Reason: strings.Repeat("x", maxLine-200)}
	if err := errors.Join(j.Append(last), j.Sync(), j.Close()); err != nil {
		t.Fatal(err)
	}
	reopen(t, path, header, append(slices.Clone(entries), last)).Close()
}
