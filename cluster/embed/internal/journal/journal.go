// Package journal keeps the results of a run in a file that only grows, so that a run that
// was killed goes on where it was.
//
// A journal is a sequence of frames: the length of the payload and its CRC-32C, 4 bytes each,
// little endian, then the payload. The first frame is the [Header] as JSON, each other one an
// [Entry]. What follows the last whole frame, as after a loss of power, is cut off, see [Journal.Lost].
package journal

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"github.com/gofrs/flock"

	"github.com/attn-go/attn/kernel"
)

// A Header is what the results of a run depend on, apart from the texts.
type Header struct {
	Version string `json:"version"` // of the numeric contract and the messages
	Model   string `json:"model"`   // fingerprint of the model
	Width   int    `json:"width"`   // numbers of a vector
	MaxText int    `json:"maxText"` // most bytes of a text

	// Files are the absolute names of the files that the run makes. A file that is none of them is a stranger's.
	Files []string `json:"files"`
}

// ErrMismatch is the kind of a kernel.Error about a journal that belongs to another run.
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
	buf    []byte
	lost   int64
	behind int // entries that are whole among what is lost
}

// LockPath returns the name of the file that a process holds while it uses a journal.
func LockPath(path string) string { return path + ".lock" }

// Files returns Header.Files of a journal, nil if there is none or if it is empty: a run that was killed
// before it had a header has made no file. A file that is no journal is an error.
func Files(path string) ([]string, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() == 0 {
		return nil, err
	}
	r, err := newReader(f)
	if err != nil {
		return nil, noJournal(path, err)
	}
	return r.header.Files, nil
}

// noJournal says what to do about a file that does not begin as a journal does.
func noJournal(path string, err error) error {
	if errors.Is(err, errTorn) || errors.Is(err, errDamaged) {
		return fmt.Errorf("%s is no journal: remove it to start anew", path)
	}
	return err
}

// Open opens the journal of a run, or begins it if there is none. A journal that exists has
// its own Files, and must equal h in all other fields: otherwise the error is a
// one of the kind [ErrMismatch]. replay is called with each entry that exists, in order; it may keep it.
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
	r, err := newReader(j.file)
	whole := int64(0)
	switch {
	case info.Size() == 0: // a new file
		err = nil
	case err != nil: // perhaps a stranger's
		err = noJournal(path, err)
	default:
		if err = r.header.match(path, j.header); err == nil {
			j.header = r.header
			err = r.each(replay)
			whole = r.offset
			j.lost = info.Size() - whole
			if err == nil && j.lost > 0 {
				j.behind, err = wholeBehind(io.NewSectionReader(j.file, whole, j.lost), j.header.Width)
			}
		}
	}
	if err != nil {
		return err
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
	text, err := json.Marshal(j.header)
	if err != nil {
		return err
	}
	if err := j.write(text); err != nil {
		return err
	}
	return j.Sync()
}

// match returns a Mismatch if want differs in more than the files.
func (h Header) match(path string, want Header) error {
	switch {
	case h.Version != want.Version:
		return Mismatch(path, "version", h.Version, want.Version)
	case h.Model != want.Model:
		return Mismatch(path, "model", h.Model, want.Model)
	case h.Width != want.Width:
		return Mismatch(path, "width", fmt.Sprint(h.Width), fmt.Sprint(want.Width))
	case h.MaxText != want.MaxText:
		return Mismatch(path, "largest text", fmt.Sprint(h.MaxText), fmt.Sprint(want.MaxText))
	}
	return nil
}

// Lost returns how many bytes of the journal were dropped when it was opened, as they do not begin with a
// frame that is whole: a process was killed while it wrote them, or the file was damaged there.
func (j *Journal) Lost() int64 { return j.lost }

// Behind returns how many entries that are whole were among the bytes of [Journal.Lost], behind others that are
// not. They are 0 after a process was killed; otherwise the file was damaged. An entry says by its place which
// record it is of, so that those behind damage are of no use.
func (j *Journal) Behind() int { return j.behind }

// Append adds an entry. It is safe after the next Sync.
func (j *Journal) Append(e Entry) error {
	j.buf = e.append(j.buf[:0])
	return j.write(j.buf)
}

func (j *Journal) write(payload []byte) error {
	j.dirty = true
	var head [frameHead]byte
	binary.LittleEndian.PutUint32(head[:], uint32(len(payload)))
	binary.LittleEndian.PutUint32(head[4:], crc32.Checksum(payload, castagnoli))
	if _, err := j.w.Write(head[:]); err != nil {
		return err
	}
	_, err := j.w.Write(payload)
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
	r, err := newReader(io.NewSectionReader(j.file, 0, 1<<62))
	if err != nil {
		return err
	}
	return r.each(f)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var (
	errTorn    = errors.New("journal: the file ends within a frame")
	errDamaged = errors.New("journal: no frame")
)

// maxFrame is the largest payload that a reader accepts, and frameHead what is before it.
const (
	maxFrame  = 1 << 20
	frameHead = 8
)

// A reader reads the frames of a journal.
type reader struct {
	header Header
	r      *bufio.Reader
	offset int64 // after the last whole frame
	buf    []byte
}

// newReader reads the header.
func newReader(from io.Reader) (*reader, error) {
	r := &reader{r: bufio.NewReaderSize(from, 1<<20)}
	payload, err := r.frame()
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(payload))
	d.DisallowUnknownFields()
	if err := d.Decode(&r.header); err != nil {
		return nil, fmt.Errorf("journal: the header: %w", err)
	}
	return r, nil
}

// each calls f with all entries that are whole.
func (r *reader) each(f func(Entry) error) error {
	for {
		before := r.offset
		payload, err := r.frame()
		switch {
		case errors.Is(err, errTorn), errors.Is(err, errDamaged):
			return nil
		case err != nil:
			return err
		}
		e, ok := parseEntry(payload, r.header.Width)
		if !ok { // the sum fits, so that a program of another form wrote it
			return fmt.Errorf("journal: the frame at byte %d is no entry", before)
		}
		if err := f(e); err != nil {
			return err
		}
	}
}

// frame returns the next payload, which the next call overwrites, errTorn or
// errDamaged.
func (r *reader) frame() ([]byte, error) {
	var head [frameHead]byte
	if _, err := io.ReadFull(r.r, head[:]); err != nil {
		return nil, short(err)
	}
	n := binary.LittleEndian.Uint32(head[:])
	if n > maxFrame {
		return nil, errDamaged
	}
	if cap(r.buf) < int(n) {
		r.buf = make([]byte, n)
	}
	payload := r.buf[:n]
	if _, err := io.ReadFull(r.r, payload); err != nil {
		return nil, short(err)
	}
	if crc32.Checksum(payload, castagnoli) != binary.LittleEndian.Uint32(head[4:]) {
		return nil, errDamaged
	}
	r.offset += int64(len(head)) + int64(n)
	return payload, nil
}

// wholeBehind counts the entries that are whole, in bytes that do not begin with one. It looks for one at every
// byte, and goes on behind each that it finds.
func wholeBehind(from io.Reader, width int) (n int, err error) {
	r := bufio.NewReaderSize(from, frameHead+maxFrame)
	for {
		head, err := r.Peek(frameHead)
		if err != nil {
			return n, endOf(err)
		}
		skip := 1
		if payload := binary.LittleEndian.Uint32(head); payload <= maxFrame {
			size := frameHead + int(payload)
			frame, err := r.Peek(size)
			if err != nil && !errors.Is(err, io.EOF) {
				return n, err
			}
			if err == nil && crc32.Checksum(frame[frameHead:], castagnoli) == binary.LittleEndian.Uint32(frame[4:]) {
				if _, ok := parseEntry(frame[frameHead:], width); ok {
					n, skip = n+1, size
				}
			}
		}
		if _, err := r.Discard(skip); err != nil {
			return n, endOf(err)
		}
	}
}

// endOf makes the end of a file no error.
func endOf(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// short makes the end of the file within a frame errTorn.
func short(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errTorn
	}
	return err
}
