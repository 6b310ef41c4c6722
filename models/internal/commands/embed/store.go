package embed

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/attn-go/attn/models/internal/vectorcache"
)

// A store has vectors that need not be computed: of texts that came before in this run, or left by
// earlier runs in a cache for each file.
type store struct {
	folder string            // of the caches; "" means that there are none
	model  [sha256.Size]byte // digest
	unit   string            // what the texts of a file are
	width  int
	report io.Writer // gets warnings

	seen   map[[sha256.Size]byte][]float32 // by the SHA-256 of a text
	caches map[string]*vectorcache.Cache   // of files that are read just now
	failed bool                            // to save: that was said once

	reused, repeated int // texts
}

// mostSeen is how many texts of this run a store remembers, 24 MB for MiniLM.
const mostSeen = 1 << 14

// cacheFolder returns the folder of the caches if the command line names none.
func cacheFolder() (string, error) {
	folder, err := os.UserCacheDir()
	return filepath.Join(folder, "attn", "vectors"), err
}

// get returns the vector of a text of a file, nil if it must be computed.
func (s *store) get(l *line) []float32 {
	c := s.cache(l.file)
	if v, ok := s.seen[sha256.Sum256([]byte(l.text))]; ok {
		s.repeated++
		s.keep(c, l.text, v)
		return v
	}
	if c == nil {
		return nil
	}
	v, ok := c.Get(l.text)
	if ok {
		s.reused++
		s.remember(l.text, v)
		return v
	}
	return nil
}

// put adds the vector of a text of a file.
func (s *store) put(l *line, v []float32) {
	s.remember(l.text, v)
	s.keep(s.cache(l.file), l.text, v)
}

func (s *store) remember(text string, v []float32) {
	if s.seen == nil {
		s.seen = map[[sha256.Size]byte][]float32{}
	}
	if len(s.seen) < mostSeen {
		s.seen[sha256.Sum256([]byte(text))] = v
	}
}

// keep adds a vector to a cache, if there is one and it lacks it.
func (s *store) keep(c *vectorcache.Cache, text string, v []float32) {
	if c == nil {
		return
	}
	if _, ok := c.Get(text); !ok {
		s.warn(c.Put(text, v))
	}
}

// cache returns the cache of a file, nil if there is none.
func (s *store) cache(file string) *vectorcache.Cache {
	if s.folder == "" || file == "" {
		return nil
	}
	if c, ok := s.caches[file]; ok {
		return c
	}
	path, err := filepath.Abs(file)
	if err != nil {
		s.warn(err)
		return nil
	}
	name := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%x", path, s.unit, s.model))
	c, err := vectorcache.Open(filepath.Join(s.folder, hex.EncodeToString(name[:16])), s.model, s.width)
	if errors.Is(err, vectorcache.ErrDamaged) {
		fmt.Fprintf(s.report, "the cache of %s is damaged and made anew: %v\n", (&line{file: file}).name(), err)
	} else {
		s.warn(err)
	}
	if s.caches == nil {
		s.caches = map[string]*vectorcache.Cache{}
	}
	s.caches[file] = c
	return c
}

// warn reports the first error of the caches, without which the command works as well.
func (s *store) warn(err error) {
	if err != nil && !s.failed {
		s.failed = true
		fmt.Fprintf(s.report, "warning: not all vectors are kept for another run: %v; -no-cache keeps none\n", err)
	}
}

// manyFresh is how many vectors a cache gets before it is saved, though its file goes on.
const manyFresh = 4096

// saveAll saves the caches of all files but current, which is read still: these are done.
func (s *store) saveAll(current string) {
	for file, c := range s.caches {
		if file != current {
			c.Prune()
			s.warn(c.Save())
			delete(s.caches, file)
		} else if c.Fresh() >= max(manyFresh, c.Saved()) {
			s.warn(c.Save())
		}
	}
}

// close saves what is left. If not all texts were seen, old vectors stay.
func (s *store) close(all bool) {
	if all {
		s.saveAll("")
	}
	for _, c := range s.caches {
		s.warn(c.Save())
	}
	s.caches = nil
}
