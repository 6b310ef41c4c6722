package hub

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/attn-go/attn/kernel"
)

// partEnding ends the name of a file that is being fetched.
const partEnding = ".part"

// attempts is how many connections in a row may break before any of them has brought a byte.
const attempts = 5

// isThere tells whether a file lies at a path.
func (f *File) isThere(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Size() == f.Size
}

// openPart opens the part of a file for this client alone. It waits for other clients of the
// folder.
func (c *Client) openPart(ctx context.Context, name string) (*os.File, error) {
	for {
		part, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
		if err != nil {
			return nil, err
		}
		locked, err := lock(part)
		if err == nil && locked && isAt(part, name) {
			return part, nil
		}
		part.Close()
		if err == nil && !locked {
			err = c.pause(ctx)
		}
		if err != nil {
			return nil, err
		}
	}
}

// isAt tells whether an open file still has its name. A client that ends a download renames the
// part, or removes it, and what waits for the lock meanwhile would write to the finished file.
func isAt(part *os.File, name string) bool {
	mine, err := part.Stat()
	named, failed := os.Stat(name)
	return err == nil && failed == nil && os.SameFile(mine, named)
}

// pause waits until a lock is worth another try.
func (c *Client) pause(ctx context.Context) error {
	if c.onPause != nil {
		c.onPause()
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(100 * time.Millisecond):
		return nil
	}
}

// fetchFile fetches a file of a commit to a path, unless it is there.
func (c *Client) fetchFile(ctx context.Context, n Name, commit string, f *File, to string) error {
	if f.isThere(to) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	part, err := c.openPart(ctx, to+partEnding)
	if err != nil {
		return err
	}
	defer part.Close()
	if f.isThere(to) {
		return errors.Join(part.Close(), os.Remove(part.Name())) // another client has fetched it meanwhile
	}
	from := "/" + n.Repo + "/resolve/" + commit + "/" + escaped(f.Name)
	for left := attempts; ; {
		moved, err := c.fetchPart(ctx, n, from, f, part)
		if err == nil {
			break
		}
		if left--; moved {
			left = attempts
		}
		if left == 0 || errors.As(err, new(*kernel.Error)) || ctx.Err() != nil {
			return err // the part stays, and the next call goes on there
		}
	}
	if err := f.check(part); err != nil {
		return errors.Join(err, part.Close(), os.Remove(part.Name()))
	}
	if err := errors.Join(part.Sync(), part.Close()); err != nil { // Windows gives no open file another name
		return err
	}
	err = os.Rename(part.Name(), to) // another client that has the lock now finds all bytes, and changes none
	if err != nil && f.isThere(to) {
		return nil // another program was faster, with the same bytes
	}
	return err
}

// escaped returns the path of a file in an address.
func escaped(name string) string {
	parts := strings.Split(name, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return strings.Join(parts, "/")
}

// fetchPart fetches what a part lacks, and tells whether it has got some of that.
func (c *Client) fetchPart(ctx context.Context, n Name, from string, f *File, part *os.File) (moved bool, err error) {
	at, err := part.Seek(0, io.SeekEnd)
	if err != nil || at == f.Size {
		return false, err
	}
	if at > f.Size {
		at = 0
	}
	response, err := c.get(ctx, from, at)
	if err != nil {
		return false, err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusOK {
		at = 0 // all of it, although only the rest was asked for
	}
	if err := statusError(n.Repo+": "+f.Name, response); err != nil {
		return false, err
	}
	if got := response.ContentLength; got >= 0 && at+got != f.Size {
		return false, &kernel.Error{Where: "hub: " + n.Repo + ": " + f.Name, Got: fmt.Sprintf("%d bytes of %s", at+got, response.Header.Get("Content-Type")), Want: fmt.Sprintf("the file of %d bytes", f.Size)}
	}
	if err := part.Truncate(at); err != nil {
		return false, err
	}
	w := &counted{part, at, f, c.Progress}
	got, err := io.Copy(w, io.LimitReader(response.Body, f.Size-at+1))
	if err == nil && w.at != f.Size {
		err = &kernel.Error{Where: "hub: " + n.Repo + ": " + f.Name, Got: fmt.Sprintf("%d bytes or more", w.at), Want: fmt.Sprintf("the file of %d bytes", f.Size)}
	}
	return got > 0, err
}

// A counted writes a part from a byte on, and tells how far it is.
type counted struct {
	part     *os.File
	at       int64
	f        *File
	progress func(file string, done, total int64)
}

func (w *counted) Write(data []byte) (int, error) {
	n, err := w.part.WriteAt(data, w.at)
	if w.at += int64(n); w.progress != nil {
		w.progress(w.f.Name, w.at, w.f.Size)
	}
	return n, err
}

// check reports content that is not the file's.
func (f *File) check(part *os.File) error {
	h, want := hash.Hash(sha256.New()), f.SHA256
	if want == "" {
		h, want = sha1.New(), f.SHA1
		fmt.Fprintf(h, "blob %d\x00", f.Size)
	}
	if _, err := part.Seek(0, io.SeekStart); err != nil {
		return err
	}
	size, err := io.Copy(h, part)
	if err != nil {
		return err
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != want || size != f.Size {
		return &kernel.Error{Where: "hub: " + f.Name, Got: fmt.Sprintf("%d bytes with the hash %s", size, got), Want: fmt.Sprintf("%d bytes with %s", f.Size, want)}
	}
	return nil
}

// write writes a small file that is whole at any time.
func write(name string, data []byte) error {
	return WriteFile(name, strings.NewReader(string(data)), "")
}

// WriteFile writes what r has to a file with the SHA-256 of sum in hexadecimal digits, unless that
// is "". No other program ever sees a part of it, and after an error what was there stays.
func WriteFile(name string, r io.Reader, sum string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	w, err := os.CreateTemp(filepath.Dir(name), ".new-")
	if err != nil {
		return err
	}
	defer os.Remove(w.Name()) // fails if all went well
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(w, h), r)
	if err = errors.Join(err, w.Chmod(0o644), w.Close()); err != nil {
		return err
	}
	if got := hex.EncodeToString(h.Sum(nil)); sum != "" && got != sum {
		return &kernel.Error{Where: "hub: " + filepath.Base(name), Got: "the sha256 " + got, Want: sum}
	}
	return os.Rename(w.Name(), name)
}
