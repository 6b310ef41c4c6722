// Package kept keeps what clients may ask for again, in a limited number of bytes. When these are
// full, the key that has the most of them loses what it has had for the longest time: nobody can
// push out what others have that have less.
package kept

import (
	"slices"
	"sync"
)

// A Shelf keeps values of keys by their ids. It is for any number of goroutines at once. A nil one
// keeps nothing.
type Shelf struct {
	most int64

	mu    sync.Mutex
	bytes int64
	rows  map[string]row
}

// A row has the values of a key, the oldest one first.
type row struct {
	bytes  int64
	values []value
}

type value struct {
	id    string
	bytes int64
	v     any
}

// overhead is what an entry takes beside its value.
const overhead = 512

// New returns a shelf of so many bytes.
func New(most int64) *Shelf { return &Shelf{most: most, rows: map[string]row{}} }

// Most is how many bytes it has, 0 for a nil one.
func (s *Shelf) Most() int64 {
	if s == nil {
		return 0
	}
	return s.most
}

// Put keeps a value of so many bytes, in place of one with its id.
func (s *Shelf) Put(key, id string, v any, bytes int64) {
	if s == nil {
		return
	}
	s.Delete(key, id)
	bytes += overhead + int64(len(key)+len(id))
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.rows[key]
	s.rows[key] = row{r.bytes + bytes, append(r.values, value{id, bytes, v})}
	for s.bytes += bytes; s.bytes > s.most; {
		s.drop(s.heaviest(), 0)
	}
}

// heaviest returns the key that has the most bytes, of several the first one by name.
func (s *Shelf) heaviest() (key string) {
	most := int64(-1)
	for name, r := range s.rows {
		if r.bytes > most || r.bytes == most && name < key {
			key, most = name, r.bytes
		}
	}
	return key
}

// drop drops a value of a key.
func (s *Shelf) drop(key string, at int) {
	r := s.rows[key]
	s.bytes -= r.values[at].bytes
	r.bytes -= r.values[at].bytes
	r.values = slices.Delete(r.values, at, at+1)
	if s.rows[key] = r; len(r.values) == 0 {
		delete(s.rows, key)
	}
}

// find returns where a value of a key is, or -1.
func (s *Shelf) find(key, id string) int {
	return slices.IndexFunc(s.rows[key].values, func(v value) bool { return v.id == id })
}

// Get returns a value of a key.
func (s *Shelf) Get(key, id string) (v any, ok bool) {
	if s == nil {
		return nil, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := s.find(key, id); at >= 0 {
		return s.rows[key].values[at].v, true
	}
	return nil, false
}

// Delete drops a value, and tells whether there was one.
func (s *Shelf) Delete(key, id string) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.find(key, id)
	if at >= 0 {
		s.drop(key, at)
	}
	return at >= 0
}
