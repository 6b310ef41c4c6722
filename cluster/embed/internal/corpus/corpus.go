// Package corpus reads texts from files, folders and streams, in an order that the input
// alone determines, and in memory that the largest permitted text bounds.
package corpus

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// A Record is one text of the input, or what makes it unusable.
type Record struct {
	Text   string
	ID     string // the JSON of a line's "id", "" without one
	Source string // "FILE:LINE", or "FILE" where the file is one text
	Reason string // why the text is not usable, "" if it is
	Bytes  int64  // that it took of the input
}

// A Format says where texts begin and end.
type Format string

// The formats.
const (
	Auto  Format = "auto"  // JSONL for .jsonl and .ndjson, Whole for other files of a folder, otherwise Lines
	JSONL Format = "jsonl" // an object {"text": ..., "id": ...} or a string a line; blank lines do not count
	Lines Format = "lines" // a text a line, a blank one too
	Whole Format = "whole" // a text a file
)

// Formats are all formats.
var Formats = []Format{Auto, JSONL, Lines, Whole}

// DefaultMaxText is the default of [Options.MaxText], in bytes.
const DefaultMaxText = 64 << 10

// Options say how an input is read.
type Options struct {
	Format  Format    // "" means Auto
	MaxText int       // most bytes of a text; 0 means [DefaultMaxText]
	Stdin   io.Reader // what the path "-" reads
}

// maxID is the largest permitted "id", in bytes of JSON.
const maxID = 1 << 10

// A file is a part of the input that one reader reads.
type file struct {
	path   string // "-" is standard input
	format Format
}

// name is how a source names the file.
func (f file) name() string {
	if f.path == "-" {
		return "stdin"
	}
	return filepath.ToSlash(f.path)
}

// A Reader yields the records of an input one after another.
type Reader struct {
	opts  Options
	files []file
	total int64

	next int // file
	open io.Closer
	from *bufio.Reader
	line int
}

// Open looks up all paths, so that a wrong one is found at once, and lists the regular files
// below folders in the order of their paths. "-" is standard input.
func Open(paths []string, opts Options) (*Reader, error) {
	opts.MaxText = cmp.Or(opts.MaxText, DefaultMaxText)
	opts.Format = cmp.Or(opts.Format, Auto)
	r := &Reader{opts: opts}
	for _, path := range paths {
		if path == "-" {
			r.files, r.total = append(r.files, file{path, opts.choose(path, Lines)}), -1
			continue
		}
		if err := r.add(path); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// add lists a file, or all of a folder.
func (r *Reader) add(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		r.list(path, info, Lines)
		return nil
	}
	return filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			r.list(path, info, Whole)
		}
		return err
	})
}

func (r *Reader) list(path string, info fs.FileInfo, usual Format) {
	r.files = append(r.files, file{path, r.opts.choose(path, usual)})
	switch {
	case !info.Mode().IsRegular():
		r.total = -1
	case r.total >= 0:
		r.total += info.Size()
	}
}

// choose returns the format of a file, usual if only the kind of the input tells.
func (o Options) choose(path string, usual Format) Format {
	ext := strings.ToLower(filepath.Ext(path))
	switch {
	case o.Format != Auto:
		return o.Format
	case ext == ".jsonl" || ext == ".ndjson":
		return JSONL
	}
	return usual
}

// Bytes returns the size of the input, -1 if that is unknown.
func (r *Reader) Bytes() int64 { return r.total }

// Close closes the file that is being read.
func (r *Reader) Close() {
	if r.open != nil {
		r.open.Close()
		r.open = nil
	}
}

// Next returns the next record, [io.EOF] after the last one. A text that is not usable is a record
// with a Reason; an error comes from reading.
func (r *Reader) Next() (Record, error) {
	for {
		if r.from == nil {
			if r.next == len(r.files) {
				return Record{}, io.EOF
			}
			if err := r.begin(); err != nil {
				return Record{}, err
			}
		}
		f := r.files[r.next]
		record, err := r.record(f)
		if err == nil {
			return record, nil
		}
		if !errors.Is(err, io.EOF) {
			return Record{}, fmt.Errorf("%s: %w", f.name(), err)
		}
		r.Close()
		r.from = nil
		r.next++
	}
}

// begin opens the next file.
func (r *Reader) begin() error {
	var from io.Reader
	if path := r.files[r.next].path; path == "-" {
		from = r.opts.Stdin
	} else {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		from, r.open = f, f
	}
	r.from, r.line = bufio.NewReaderSize(from, 64<<10), 0
	return nil
}

// record returns the next record of a file.
func (r *Reader) record(f file) (Record, error) {
	switch f.format {
	case Whole:
		return r.whole(f)
	case JSONL:
		return r.jsonLine(f)
	}
	line, took, err := r.readLine(r.opts.MaxText)
	if err != nil {
		return Record{}, err
	}
	record := Record{Text: line, Source: fmt.Sprintf("%s:%d", f.name(), r.line), Bytes: took}
	r.check(&record, took)
	return record, nil
}

// whole returns the text of a file.
func (r *Reader) whole(f file) (Record, error) {
	if r.line++; r.line > 1 {
		return Record{}, io.EOF
	}
	text, err := io.ReadAll(io.LimitReader(r.from, int64(r.opts.MaxText)+1))
	if err != nil {
		return Record{}, err
	}
	record := Record{Text: string(text), Source: f.name()}
	rest, err := io.Copy(io.Discard, r.from)
	if err != nil {
		return Record{}, err
	}
	record.Bytes = int64(len(text)) + rest
	r.check(&record, record.Bytes)
	return record, nil
}

// check gives a record a reason if its text, of the given size in the input, is not usable.
func (r *Reader) check(record *Record, size int64) {
	switch {
	case len(record.Text) > r.opts.MaxText:
		record.Reason = fmt.Sprintf("too large: %d bytes, at most %d are permitted", size, r.opts.MaxText)
	case !utf8.ValidString(record.Text):
		record.Reason = "not UTF-8"
	default:
		return
	}
	record.Text = ""
}

// readLine returns the next line without its end, and how many bytes it took. Of a line of
// more than limit bytes only the first limit+1 are kept.
func (r *Reader) readLine(limit int) (line string, took int64, err error) {
	var kept []byte
	for {
		part, err := r.from.ReadSlice('\n')
		took += int64(len(part))
		// Two bytes more, as the end of the line may be \r\n.
		kept = append(kept, part[:min(len(part), limit+3-len(kept))]...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && !(errors.Is(err, io.EOF) && took > 0) {
			return "", 0, err
		}
		break
	}
	r.line++
	kept = kept[:len(kept)-lineEnd(kept)]
	return string(kept[:min(len(kept), limit+1)]), took, nil
}

// lineEnd returns the length of the end of a line.
func lineEnd(line []byte) int {
	n := len(line)
	switch {
	case n >= 2 && line[n-2] == '\r' && line[n-1] == '\n':
		return 2
	case n >= 1 && line[n-1] == '\n':
		return 1
	}
	return 0
}
