package tensors

import (
	"maps"
	"strings"
)

// OpenModule opens the tensors of a file whose names begin with a module's, mapped or not.
func OpenModule(path, module string, mapped bool) (*Store, error) {
	return opened(func(s *Store) error {
		err := s.openFile(formats[0], path, nil)
		maps.DeleteFunc(s.tensors, func(key string, t *tensor) bool {
			if !mapped {
				t.data = nil
			}
			return !strings.HasPrefix(key, module+".")
		})
		return err
	})
}

// Drop removes a tensor.
func (s *Store) Drop(name string) { delete(s.tensors, name) }

// Alias gives a tensor a name beside its own.
func (s *Store) Alias(name, other string) { s.tensors[other] = s.tensors[name] }

// Holds tells whether the maker of a tensor keeps what it has read.
func (s *Store) Holds(name string) bool {
	m := s.tensors[name].from.(*quantized)
	return m.layer != nil || m.grid != nil || m.room != nil
}
