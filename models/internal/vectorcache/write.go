package vectorcache

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// removeStale removes what programs have left that were killed while they saved.
func (c *Cache) removeStale() {
	left, err := filepath.Glob(globEscape(c.path) + ".new-*")
	if err != nil {
		return
	}
	for _, name := range left {
		if info, err := os.Stat(name); err == nil && time.Since(info.ModTime()) > time.Hour {
			os.Remove(name)
		}
	}
}

// globEscape returns a pattern of a path alone.
func globEscape(path string) string {
	if runtime.GOOS == "windows" { // where patterns have no escapes, and paths no *
		return path
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// write writes the content of the file, in the order of the keys, so that equal caches have equal
// files.
func (c *Cache) write(w io.Writer) error {
	sum := sha256.New()
	b := bufio.NewWriterSize(io.MultiWriter(w, sum), 1<<16)
	b.Write(c.head)
	keys := slices.SortedFunc(maps.Keys(c.vectors), func(x, y key) int { return bytes.Compare(x[:], y[:]) })
	for _, k := range keys {
		b.Write(k[:])
		for _, x := range c.vectors[k].vector {
			b.Write(binary.LittleEndian.AppendUint32(b.AvailableBuffer(), math.Float32bits(x)))
		}
	}
	if err := b.Flush(); err != nil {
		return err
	}
	_, err := w.Write(sum.Sum(nil))
	return err
}
