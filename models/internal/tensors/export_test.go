package tensors

import (
	"maps"
	"strings"
)

// OpenModule opens the tensors of a file whose names begin with that of a module, mapped or not.
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

// Move gives a tensor another name.
func (s *Store) Move(from, to string) {
	s.tensors[to] = s.tensors[from]
	delete(s.tensors, from)
}
