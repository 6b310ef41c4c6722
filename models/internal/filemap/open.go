package filemap

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// Open opens a file of a model and returns its size. What is no regular file, and what cannot be a
// file of any model, such as the page of an error that was downloaded in its place, is a
// [*fs.PathError] that says what it is.
func Open(path string) (*os.File, int64, error) {
	f, err := OpenRegular(path)
	if err != nil {
		return nil, 0, err
	}
	st, err := f.Stat()
	if err == nil {
		err = checkContent(f, st.Size())
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, st.Size(), nil
}

// OpenRegular is [Open] for a file of any content.
func OpenRegular(path string) (*os.File, error) {
	if err := checkRegular(path); err != nil {
		return nil, err
	}
	return os.Open(path)
}

// maxRead is the size of the largest file that ReadFile takes. The largest vocabularies have some
// 40 MB.
const maxRead = 1 << 30

// ReadFile reads a file of a model that is not mapped, such as JSON. It fails as [Open] does, and
// for more than 1 GiB.
func ReadFile(path string) ([]byte, error) {
	f, size, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if size > maxRead {
		return nil, pathError(path, "%d bytes, want at most %d", size, int64(maxRead))
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, &fs.PathError{Op: "read", Path: path, Err: err}
	}
	return data, nil
}

// kinds are what a path may be in place of a file. To open a pipe would wait for somebody who
// writes to it, and the zeros of a device have no end.
var kinds = []struct {
	mode fs.FileMode
	name string
}{
	{fs.ModeDir, "a folder"}, {fs.ModeNamedPipe, "a pipe"}, {fs.ModeSocket, "a socket"}, {fs.ModeDevice, "a device"},
}

func checkRegular(path string) error {
	st, err := os.Stat(path)
	if err != nil || st.Mode().IsRegular() {
		return err
	}
	kind := "something else"
	for _, k := range kinds {
		if st.Mode()&k.mode != 0 {
			kind = k.name
			break
		}
	}
	return pathError(path, "%s, want a regular file", kind)
}

// lfsPointer is how a file begins that stands for one in Git LFS, see
// https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md.
const lfsPointer = "version https://git-lfs.github.com/spec/v1\n"

func checkContent(f *os.File, size int64) error {
	var head [256]byte
	n, err := f.ReadAt(head[:min(size, int64(len(head)))], 0)
	if err != nil && err != io.EOF {
		return err
	}
	switch text := head[:n]; {
	case bytes.HasPrefix(text, []byte(lfsPointer)):
		var want int64
		if at := bytes.Index(text, []byte("\nsize ")); at >= 0 {
			fmt.Sscanf(string(text[at:]), "\nsize %d", &want)
		}
		return pathError(f.Name(), "a pointer of Git LFS, want the file of %d bytes that it stands for: git lfs pull", want)
	case isHTML(text):
		return pathError(f.Name(), "a page of HTML, want the file itself: a download has got a page instead")
	}
	return nil
}

func isHTML(text []byte) bool {
	text = bytes.ToLower(bytes.TrimLeft(text, "\ufeff \t\r\n"))
	return bytes.HasPrefix(text, []byte("<!doctype html")) || bytes.HasPrefix(text, []byte("<html"))
}

func pathError(path, format string, args ...any) error {
	return &fs.PathError{Op: "open", Path: path, Err: fmt.Errorf(format, args...)}
}

// ReadJSON reads a file of JSON. Errors name it; if it is missing, they are an [fs.ErrNotExist].
func ReadJSON(path string, into any) error {
	data, err := ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil && json.Unmarshal(infinities(data), into) != nil {
		return fmt.Errorf("%s: %w", path, JSONError(err, data))
	}
	return nil
}

// infinities returns JSON of Python, which writes Infinity as a word, with the object that
// transformers has for it since 5.0.
func infinities(data []byte) (out []byte) {
	const word, object = "Infinity", `{"__float__":"Infinity"}`
	for i := 0; i < len(data); i++ {
		switch {
		case data[i] == '"':
			end := i + 1
			for end < len(data) && data[end] != '"' {
				if end++; data[end-1] == '\\' {
					end++
				}
			}
			out = append(out, data[i:min(end+1, len(data))]...)
			i = end
		case bytes.HasPrefix(data[i:], []byte(word)):
			out = append(out, object...)
			i += len(word) - 1
		default:
			out = append(out, data[i])
		}
	}
	return out
}

// JSONError returns the error of decoding JSON, in other words if the data end within it.
func JSONError(err error, data []byte) error {
	if bad := (*json.SyntaxError)(nil); errors.As(err, &bad) && bad.Offset == int64(len(data)) && strings.HasPrefix(bad.Error(), "unexpected end") {
		return fmt.Errorf("truncated after %d bytes: %w", len(data), err)
	}
	return err
}
