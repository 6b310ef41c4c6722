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

	"github.com/attn-go/attn/kernel"
)

// partEnding is that of a file that is being fetched.
const partEnding = ".part"

// attempts is how often a connection that has brought something may break, one after the other.
const attempts = 5

// fetchFile fetches a file of a commit to a path, unless it is there.
func (c *Client) fetchFile(ctx context.Context, n Name, commit string, f *File, to string) error {
	if info, err := os.Stat(to); err == nil && info.Size() == f.Size {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	part, err := os.OpenFile(to+partEnding, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	defer part.Close()
	from := "/" + n.Repo + "/resolve/" + commit + "/" + escaped(f.Name)
	for left := attempts; ; left-- {
		moved, err := c.fetchPart(ctx, n, from, f, part)
		if err == nil {
			break
		}
		if left <= 1 || !moved || ctx.Err() != nil {
			return err // the part stays, and the next call goes on there
		}
	}
	if err := f.check(part); err != nil {
		return errors.Join(err, os.Remove(part.Name()))
	}
	if err := part.Sync(); err != nil {
		return err
	}
	err = os.Rename(part.Name(), to)
	if info, failed := os.Stat(to); err != nil && failed == nil && info.Size() == f.Size {
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

// check reports content that is not that of the file.
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

// WriteFile writes what r has to a file with the SHA-256 of sum in hexadecimal digits, unless that is "". No other program ever
// sees a part of it, and after an error what was there stays.
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
