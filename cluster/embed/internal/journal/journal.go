// Package journal keeps the results of a run in a file that only grows, so that a run that
// was killed goes on where it was.
//
// A journal has lines: the CRC-32C of what follows in 8 digits, a space, and JSON. The first one is
// the [Header], each other one an [Entry]. What follows the last whole line, as after a loss of
// power, is cut off, see [Journal.Lost].
package journal

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"unicode/utf8"

	"github.com/gofrs/flock"

	"github.com/attn-go/attn/kernel"
)

// A Header is what the results of a run depend on, apart from the texts.
type Header struct {
	Version string `json:"version"` // of the numeric contract and the messages
	Model   string `json:"model"`   // fingerprint of the model
	Width   int    `json:"width"`   // numbers of a vector
	MaxText int    `json:"maxText"` // most bytes of a text
}

// An Entry is the result of one record of the input. The n-th entry belongs to the n-th record.
type Entry struct {
	Key    [sha256.Size]byte // of what the input has, so that a resumed run finds a changed input
	Source string            // where the text is
	ID     string            // JSON of the input's id, or ""
	Reason string            // why there is no vector, "" if there is one
	Vector []float32         // [Header.Width], nil with a Reason
}

// line is an entry as it is written.
type line struct {
	Key                []byte
	Source, ID, Reason string `json:",omitempty"`
	Vector             []byte `json:",omitempty"` // float32, little-endian
}

// ErrMismatch is the kind of a kernel.Error about a journal that belongs to another run, or a file
// that is none.
var ErrMismatch = errors.New("journal: it belongs to another run; remove it to start anew")

// Mismatch reports a journal whose field is another one.
func Mismatch(path, field, got, want string) error {
	return &kernel.Error{Where: "journal: " + path + ": " + field, Got: got, Want: want + ": the journal belongs to another run; remove it to start anew", Kind: ErrMismatch}
}

// ErrLocked is the error of [Open] if another process uses the journal.
var ErrLocked = errors.New("journal: another process uses it")

// A Journal is open for writing. No other process can open it meanwhile.
type Journal struct {
	header Header
	file   *os.File
	lock   *flock.Flock
	w      *bufio.Writer
	dirty  bool
	lost   int64
	behind int // entries that are whole among what is lost
}

// LockPath returns the name of the file that a process holds while it uses a journal.
func LockPath(path string) string { return path + ".lock" }

// Open opens the journal of a run, or begins it if there is none. One that exists must have the
// same header: otherwise the error is of the kind [ErrMismatch]. replay is called with each entry
// that exists, in order; it may keep it.
func Open(path string, h Header, replay func(Entry) error) (*Journal, error) {
	lock := flock.New(LockPath(path))
	if ok, err := lock.TryLock(); err != nil || !ok {
		return nil, errors.Join(fmt.Errorf("%w: %s", ErrLocked, path), err)
	}
	j := &Journal{header: h, lock: lock}
	err := j.open(path, replay)
	if err != nil {
		j.Close()
		return nil, err
	}
	return j, nil
}

// open reads what exists, cuts off what is not whole, and stands at the end.
func (j *Journal) open(path string, replay func(Entry) error) error {
	var err error
	if j.file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644); err != nil {
		return err
	}
	info, err := j.file.Stat()
	if err != nil {
		return err
	}
	whole := int64(0)
	if info.Size() > 0 {
		r, err := newReader(path, j.file)
		if err == nil {
			err = r.header.match(path, j.header)
		}
		if err == nil {
			err = r.each(replay)
		}
		if err != nil {
			return err
		}
		whole, j.behind = r.offset, r.behind()
		j.lost = info.Size() - whole
	}
	if err := j.file.Truncate(whole); err != nil {
		return err
	}
	if _, err := j.file.Seek(whole, io.SeekStart); err != nil {
		return err
	}
	j.w = bufio.NewWriterSize(j.file, 1<<20)
	if whole > 0 {
		return nil
	}
	return errors.Join(j.write(j.header), j.Sync())
}

// match returns a Mismatch if want differs.
func (h Header) match(path string, want Header) error {
	for _, x := range [...][3]string{{"version", h.Version, want.Version}, {"model", h.Model, want.Model},
		{"width", fmt.Sprint(h.Width), fmt.Sprint(want.Width)}, {"largest text", fmt.Sprint(h.MaxText), fmt.Sprint(want.MaxText)}} {
		if x[1] != x[2] {
			return Mismatch(path, x[0], x[1], x[2])
		}
	}
	return nil
}

// Lost returns how many bytes of the journal were dropped when it was opened, as they do not begin
// with a line that is whole: a process was killed while it wrote them, or the file was damaged
// there.
func (j *Journal) Lost() int64 { return j.lost }

// Behind returns how many entries that are whole were among the bytes of [Journal.Lost], behind
// others that are not. They are 0 after a process was killed; otherwise the file was damaged. An
// entry says by its place which record it is of, so that those behind damage are of no use.
func (j *Journal) Behind() int { return j.behind }

// Append adds an entry. It is safe after the next Sync. One that a journal could not give back is a
// [*kernel.Error], and is not added.
func (j *Journal) Append(e Entry) error {
	for _, text := range []string{e.Source, e.ID, e.Reason} { // JSON would change it
		if !utf8.ValidString(text) {
			return &kernel.Error{Where: "journal: an entry", Got: fmt.Sprintf("%.200q", text), Want: "UTF-8"}
		}
	}
	x := line{Key: e.Key[:], Source: e.Source, ID: e.ID, Reason: e.Reason}
	for _, v := range e.Vector {
		x.Vector = binary.LittleEndian.AppendUint32(x.Vector, math.Float32bits(v))
	}
	return j.write(x)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// write writes a line.
func (j *Journal) write(x any) error {
	text, err := json.Marshal(x)
	if err != nil {
		return err
	}
	line := fmt.Appendf(nil, "%08x %s\n", crc32.Checksum(text, castagnoli), text)
	if len(line) > maxLine {
		return &kernel.Error{Where: "journal: a line", Got: fmt.Sprintf("%d bytes that begin with %.200q", len(line), line), Want: fmt.Sprintf("at most %d", maxLine)}
	}
	j.dirty = true
	_, err = j.w.Write(line)
	return err
}

// Sync returns when all entries are on the disk.
func (j *Journal) Sync() error {
	if !j.dirty {
		return nil
	}
	if err := j.w.Flush(); err != nil {
		return err
	}
	j.dirty = false
	return j.file.Sync()
}

// Close closes the journal without a Sync.
func (j *Journal) Close() error {
	var err error
	if j.file != nil {
		err = j.file.Close()
	}
	return errors.Join(err, j.lock.Unlock())
}

// Remove closes the journal and removes its files.
func (j *Journal) Remove() error {
	path := j.file.Name()
	return errors.Join(j.file.Close(), os.Remove(path), os.Remove(j.lock.Path()), j.lock.Unlock())
}

// Read calls f with each entry of a journal, in order, from its beginning. It writes
// nothing and leaves the place of j where it is. Call Sync first.
func (j *Journal) Read(f func(Entry) error) error {
	r, err := newReader(j.file.Name(), io.NewSectionReader(j.file, 0, 1<<62))
	if err != nil {
		return err
	}
	return r.each(f)
}

// maxLine is the longest line of a journal.
const maxLine = 1 << 20

// A reader reads the lines of a journal.
type reader struct {
	header Header
	lines  *bufio.Reader
	offset int64 // after the last whole line
}

// Begun tells whether a run has begun a journal: the file is there and not empty. The error is of
// the kind [ErrMismatch] if it is no journal.
func Begun(path string) (bool, error) {
	if info, err := os.Stat(path); err != nil || info.Size() == 0 {
		return false, nil // Open says what is wrong
	}
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	_, err = newReader(path, f)
	return err == nil, err
}

// newReader reads the header. The error is of the kind [ErrMismatch]: the file is no journal.
func newReader(path string, from io.Reader) (*reader, error) {
	r := &reader{lines: bufio.NewReaderSize(from, maxLine)}
	if whole, err := r.next(&r.header); !whole || err != nil {
		return r, &kernel.Error{Where: "journal: " + path, Got: "a file that is no journal, or one of another version", Want: "a journal: remove it to start anew", Kind: ErrMismatch}
	}
	return r, nil
}

// next reads a line into x. It returns false if there is none that is whole. The error is about one
// that is, and has something else.
func (r *reader) next(x any) (whole bool, err error) {
	text, err := r.lines.ReadSlice('\n')
	if err != nil {
		return false, nil
	}
	if whole, err = parse(text, x); whole && err == nil {
		r.offset += int64(len(text))
	}
	return whole, err
}

// parse tells whether a line is whole, and reads it into x.
func parse(text []byte, x any) (whole bool, err error) {
	sum, rest, ok := bytes.Cut(bytes.TrimSuffix(text, []byte("\n")), []byte(" "))
	if !ok || string(sum) != fmt.Sprintf("%08x", crc32.Checksum(rest, castagnoli)) {
		return false, nil
	}
	d := json.NewDecoder(bytes.NewReader(rest))
	d.DisallowUnknownFields()
	if err = d.Decode(x); err == nil && d.InputOffset() != int64(len(rest)) {
		err = errors.New("more than one value")
	}
	return true, err
}

// entry returns the entry of a line of vectors of so many numbers.
func (x *line) entry(width int) (e Entry, ok bool) {
	e = Entry{Source: x.Source, ID: x.ID, Reason: x.Reason}
	if x.Reason != "" {
		width = 0
	}
	if copy(e.Key[:], x.Key) != sha256.Size || len(x.Key) != sha256.Size || len(x.Vector) != 4*width {
		return e, false
	}
	for at := 0; at < len(x.Vector); at += 4 {
		e.Vector = append(e.Vector, math.Float32frombits(binary.LittleEndian.Uint32(x.Vector[at:])))
	}
	return e, true
}

// each calls f with all entries before the first line that is not whole.
func (r *reader) each(f func(Entry) error) error {
	for {
		before, x := r.offset, line{}
		whole, err := r.next(&x)
		if !whole {
			return nil
		}
		e, ok := x.entry(r.header.Width)
		if err != nil || !ok { // the sum fits, so that a program of another version wrote it
			return errors.Join(fmt.Errorf("journal: the line at byte %d is no entry of this version", before), err)
		}
		if err := f(e); err != nil {
			return err
		}
	}
}

// behind counts the entries that are whole behind the line with which each has ended.
func (r *reader) behind() (n int) {
	for {
		text, err := r.lines.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return n
		}
		var x line
		if whole, err := parse(text, &x); whole && err == nil {
			n++
		}
	}
}
