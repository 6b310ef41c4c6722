// Package promptcache keeps what a language model has computed of the beginnings of texts, so that
// it survives the program: the keys, values and states of pages of tokens, as [decoder.Text.Save]
// writes them. As these have the same bits on every CPU, a page of one machine serves all others.
//
// A page has the name of a hash of all it depends on: the model, see
// [decoder.Model.StateFingerprint], and the tokens up to its end. It lies in a [Backend] with a
// hash of its bytes. One that is damaged or cut off is never used: it is removed, and the log says
// so.
package promptcache

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync/atomic"

	"github.com/attn-go/attn/kernel"
)

// A Key names a page.
type Key struct {
	sum   [sha256.Size]byte
	depth int // pages before it
}

// First returns the key from which the keys of a model's pages follow, of so many tokens each.
func First(fingerprint string, page int) Key {
	return Key{sum: sha256.Sum256(fmt.Appendf(nil, "pages of %d tokens of %q", page, fingerprint)), depth: -1}
}

// Next returns the key of the page that has these tokens, after the key of the page before it, or
// [First].
func (k Key) Next(tokens []int32) Key {
	h := sha256.New()
	h.Write(k.sum[:])
	binary.Write(h, binary.LittleEndian, tokens) // a hash has no errors
	next := Key{depth: k.depth + 1}
	h.Sum(next.sum[:0])
	return next
}

// String returns the name of the page in a backend.
func (k Key) String() string { return hex.EncodeToString(k.sum[:]) }

// Depth returns how many pages of the text lie before the page.
func (k Key) Depth() int { return k.depth }

// A Backend keeps objects of a few megabytes by the names of keys: a [Folder], or a store that
// machines share. It may lose what it has, and is for any number of goroutines.
type Backend interface {
	// Get returns an object. The error is an [fs.ErrNotExist] if there is none.
	Get(ctx context.Context, k Key) ([]byte, error)
	// Put keeps an object, unless the name has one.
	Put(ctx context.Context, k Key, object []byte) error
	// Remove removes an object that was read, unless another one has its name by now.
	Remove(ctx context.Context, k Key, object []byte) error
}

// A Cache has the pages of a backend. It is for any number of goroutines.
type Cache struct {
	backend Backend
	log     *slog.Logger

	read, written, damaged, failed atomic.Int64
}

// Stats are numbers of what a cache did: pages that were read and written, that were damaged, and
// for which the backend had an error.
type Stats struct{ Read, Written, Damaged, Failed int64 }

// New returns the cache of a backend, which reports what is wrong there.
func New(b Backend, log *slog.Logger) *Cache { return &Cache{backend: b, log: log} }

// Stats returns the numbers of the moment.
func (c *Cache) Stats() Stats {
	return Stats{c.read.Load(), c.written.Load(), c.damaged.Load(), c.failed.Load()}
}

// magic begins an object: its form, with the version.
const magic = "attn page 1\n"

// headBytes are those before the page: magic, the name and the hash.
const headBytes = len(magic) + 2*sha256.Size

// seal returns the object of a page.
func seal(k Key, page []byte) []byte {
	sum := sha256.Sum256(page)
	object := make([]byte, 0, headBytes+len(page))
	return append(append(append(append(object, magic...), k.sum[:]...), sum[:]...), page...)
}

// open returns the page of an object, or what is wrong with that.
func open(k Key, object []byte) (page []byte, problem *kernel.Error) {
	if len(object) < headBytes || string(object[:len(magic)]) != magic {
		return nil, &kernel.Error{Where: "promptcache: page " + k.String(), Got: fmt.Sprintf("%d bytes that begin with %.12q", len(object), object), Want: fmt.Sprintf("%q and a page", magic)}
	}
	head, page := object[len(magic):headBytes], object[headBytes:]
	if !bytes.Equal(head[:sha256.Size], k.sum[:]) {
		return nil, &kernel.Error{Where: "promptcache: page " + k.String(), Got: fmt.Sprintf("the page %x", head[:sha256.Size]), Want: "the one of its name"}
	}
	if sum := sha256.Sum256(page); !bytes.Equal(head[sha256.Size:], sum[:]) {
		return nil, &kernel.Error{Where: "promptcache: page " + k.String(), Got: fmt.Sprintf("%d bytes with the sha256 %x", len(page), sum), Want: fmt.Sprintf("%x", head[sha256.Size:])}
	}
	return page, nil
}

// Get returns a page, or nil if there is none that can be used.
func (c *Cache) Get(ctx context.Context, k Key) []byte {
	object, err := c.backend.Get(ctx, k)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		c.fail(ctx, "reading a page failed", k, err)
		return nil
	}
	page, problem := open(k, object)
	if problem != nil {
		c.remove(ctx, k, object, problem)
		return nil
	}
	c.read.Add(1)
	return page
}

// Discard removes a page that [Cache.Get] has returned and that cannot be used, for a reason that
// the log gets. A page that was put in its place since stays.
func (c *Cache) Discard(ctx context.Context, k Key, page []byte, reason error) {
	c.remove(ctx, k, seal(k, page), reason)
}

// remove removes an object that was read.
func (c *Cache) remove(ctx context.Context, k Key, object []byte, reason error) {
	c.damaged.Add(1)
	c.log.Warn("a page is removed", "page", k, "error", reason)
	if err := c.backend.Remove(ctx, k, object); err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.fail(ctx, "removing a page failed", k, err)
	}
}

// Put keeps a page. That it cannot is for the log alone.
func (c *Cache) Put(ctx context.Context, k Key, page []byte) {
	if err := c.backend.Put(ctx, k, seal(k, page)); err != nil {
		c.fail(ctx, "writing a page failed", k, err)
		return
	}
	c.written.Add(1)
}

// fail reports an error of the backend, unless nobody waits any more.
func (c *Cache) fail(ctx context.Context, what string, k Key, err error) {
	if ctx.Err() != nil {
		return
	}
	c.failed.Add(1)
	c.log.Warn(what, "page", k, "error", err)
}
