package server

import (
	"strings"
	"sync"
)

// noted are the fields that requests had and that this server does not know.
type noted struct {
	mu    sync.Mutex
	names map[string]bool
}

// The log names so many fields, and so many bytes of a name: who sends others every time fills
// neither memory nor log.
const (
	mostNoted   = 256
	longestName = 64
)

// first tells whether a name is new and to be logged, and whether it is the last one.
func (n *noted) first(name string) (is, last bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.names[name] || len(n.names) >= mostNoted {
		return false, false
	}
	if n.names == nil {
		n.names = map[string]bool{}
	}
	n.names[strings.Clone(name)] = true
	return true, len(n.names) == mostNoted
}

// unknown logs a field of the request that is ignored, once for each name.
func (s *Server) unknown(x *exchange, name string) {
	if len(name) > longestName {
		name = strings.ToValidUTF8(name[:longestName], "") + "..."
	}
	is, last := s.noted.first(name)
	if is {
		s.s.Logger.Warn("a field of a request is not known and is ignored", "id", x.id, "path", x.r.URL.Path, "field", name)
	}
	if last {
		s.s.Logger.Warn("no more fields that are ignored are named", "names", mostNoted)
	}
}
