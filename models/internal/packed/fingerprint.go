package packed

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/attn-go/attn/models/internal/filemap"
)

const (
	samples    = 64 // of a file
	sampleSize = 4 << 10
)

// Fingerprint returns a hash of the state of some files and of settings. Of a file it has the size,
// the time of change and some pieces; on Linux, macOS and the BSDs also the number of its inode and
// the time at which the system has changed that last, which no program can set. So a file that is
// replaced or written has another one. On other systems a file whose size and time stay has the
// same one if it changes between the pieces.
func Fingerprint(paths []string, settings string) (sum [sha256.Size]byte, err error) {
	h := sha256.New()
	number := func(n int64) { h.Write(binary.LittleEndian.AppendUint64(nil, uint64(n))) }
	number(int64(len(settings)))
	io.WriteString(h, settings)
	for _, path := range paths {
		f, err := filemap.OpenRegular(path)
		if err != nil {
			return sum, err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return sum, err
		}
		number(info.Size())
		number(info.ModTime().UnixNano())
		for _, n := range inode(info) {
			number(n)
		}
		var piece [sampleSize]byte
		for i := range int64(samples) {
			n, err := f.ReadAt(piece[:], info.Size()/samples*i)
			if err != nil && !errors.Is(err, io.EOF) {
				return sum, err
			}
			h.Write(piece[:n])
		}
	}
	return [sha256.Size]byte(h.Sum(nil)), nil
}

// newInfix is in the names of files that are written.
const newInfix = ".new-"

// removeStale removes what programs have left that were killed while they wrote.
func removeStale(path string) {
	dir, prefix := filepath.Dir(path), filepath.Base(path)+newInfix
	list, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range list {
		if info, err := e.Info(); err == nil && strings.HasPrefix(e.Name(), prefix) && time.Since(info.ModTime()) > time.Hour {
			os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}
