package server

import (
	"net/http"
	"slices"

	"github.com/attn-go/attn/kernel"
)

// trust lets pages of the origins of the settings ask.
func (s *Server) trust() error {
	for _, origin := range s.s.Origins {
		if origin == "*" {
			continue
		}
		if err := s.origins.AddTrustedOrigin(origin); err != nil {
			return &kernel.Error{Where: "server: Settings.Origins", Got: origin, Want: `SCHEME://HOST[:PORT], or "*" for all`}
		}
	}
	return nil
}

// trusted tells whether a request comes from a page that may ask.
func (s *Server) trusted(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	return origin != "" && (slices.Contains(s.s.Origins, origin) || slices.Contains(s.s.Origins, "*"))
}

// shared says to the browser of a page that it may read the answer, and answers if it asks no more
// than that.
func (s *Server) shared(w http.ResponseWriter, r *http.Request) (answered bool) {
	if len(s.s.Origins) == 0 {
		return false
	}
	h := w.Header()
	if h.Add("Vary", "Origin"); !s.trusted(r) {
		return false
	}
	h.Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
	h.Set("Access-Control-Expose-Headers", "X-Request-Id, Retry-After")
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
	if names := r.Header.Get("Access-Control-Request-Headers"); names != "" { // any, as only the key's does something
		h.Set("Access-Control-Allow-Headers", names)
	}
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}
