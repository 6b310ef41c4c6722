package gguf

import (
	"encoding/binary"
	"fmt"
)

// A reader reads a file from its start to its end.
type reader struct {
	data []byte
	at   int

	// What is being read, for errors: a part of the file, and its name if it has one.
	part, named string
}

// left returns the number of bytes that have not been read.
func (r *reader) left() int { return len(r.data) - r.at }

// fail returns an error about the byte at this offset.
func (r *reader) fail(at int, want, got string, args ...any) error {
	part := r.part
	if r.named != "" {
		part = fmt.Sprintf("%s %q", part, r.named)
	}
	return formatError(int64(at), part, fmt.Sprintf(got, args...), want)
}

// take returns the next n bytes. They are part of the file.
func (r *reader) take(n uint64) ([]byte, error) {
	if n > uint64(r.left()) {
		return nil, r.fail(r.at, fmt.Sprintf("%d bytes", n), "truncated: only %d bytes are left", r.left())
	}
	b := r.data[r.at : r.at+int(n)]
	r.at += int(n)
	return b, nil
}

func (r *reader) uint32() (uint32, error) {
	b, err := r.take(4)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint32(b), nil
}

func (r *reader) uint64() (uint64, error) {
	b, err := r.take(8)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b), nil
}

// count reads the number of things that follow, each of which takes at least so many bytes.
// So a false number cannot cause an allocation that the file's size does not justify.
func (r *reader) count(least int, things string) (int, error) {
	at := r.at
	n, err := r.uint64()
	if err != nil {
		return 0, err
	}
	if most := r.left() / least; n > uint64(most) {
		return 0, r.fail(at, fmt.Sprintf("at most the %d that fit the rest of the file: it may be cut off, download it again", most), "%d %s", n, things)
	}
	return int(n), nil
}

// bytes reads a string's length and returns its bytes, part of the file.
func (r *reader) bytes() ([]byte, error) {
	n, err := r.uint64()
	if err != nil {
		return nil, err
	}
	return r.take(n)
}

// name reads a string of 1 to most bytes that names something.
func (r *reader) name(most int) (string, error) {
	at := r.at
	n, err := r.uint64()
	if err != nil {
		return "", err
	}
	if n == 0 || n > uint64(most) {
		return "", r.fail(at, fmt.Sprintf("1 to %d", most), "a name of %d bytes", n)
	}
	b, err := r.take(n)
	return string(b), err
}
