// Package kept keeps what clients may ask for again, in a limited number of bytes. When these are full, the key that has the
// most of them loses what it has had for the longest time: nobody can push out what others have that have less.
package kept

import (
	"container/list"
	"sync"
)

// A Shelf keeps values of keys by their ids. It is for any number of goroutines at once. A nil one keeps nothing.
type Shelf struct {
	most int64

	mu    sync.Mutex
	bytes int64
	rows  map[string]*row
}

// A row has the values of a key.
type row struct {
	bytes  int64
	values map[string]*list.Element // of order, by their ids
	order  *list.List               // of values, the oldest one first
}

type value struct {
	id    string
	bytes int64
	v     any
}

// overhead is what an entry takes beside its value.
const overhead = 512

// New returns a shelf of so many bytes.
func New(most int64) *Shelf { return &Shelf{most: most, rows: map[string]*row{}} }

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
	bytes += overhead + int64(len(key)+len(id))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(key, id)
	r := s.rows[key]
	if r == nil {
		r = &row{values: map[string]*list.Element{}, order: list.New()}
		s.rows[key] = r
	}
	r.values[id] = r.order.PushBack(&value{id, bytes, v})
	r.bytes += bytes
	for s.bytes += bytes; s.bytes > s.most; {
		s.shrink()
	}
}

// shrink drops the oldest value of the key that has the most.
func (s *Shelf) shrink() {
	var heaviest string
	most := int64(-1)
	for key, r := range s.rows {
		if r.bytes > most || r.bytes == most && key < heaviest {
			heaviest, most = key, r.bytes
		}
	}
	s.drop(heaviest, s.rows[heaviest].order.Front().Value.(*value).id)
}

// Get returns a value of a key.
func (s *Shelf) Get(key, id string) (v any, ok bool) {
	if s == nil {
		return nil, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.rows[key]; r != nil && r.values[id] != nil {
		return r.values[id].Value.(*value).v, true
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
	return s.drop(key, id)
}

func (s *Shelf) drop(key, id string) bool {
	r := s.rows[key]
	if r == nil || r.values[id] == nil {
		return false
	}
	v := r.order.Remove(r.values[id]).(*value)
	delete(r.values, id)
	r.bytes -= v.bytes
	if s.bytes -= v.bytes; len(r.values) == 0 {
		delete(s.rows, key)
	}
	return true
}
