package server

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"strings"
)

// keys are the keys that are accepted, by the hashes of their secrets.
type keys []struct {
	name string
	hash [sha256.Size]byte
}

func newKeys(list []Key) (all keys) {
	all = make(keys, len(list))
	for i, k := range list {
		all[i].name, all[i].hash = k.Name, sha256.Sum256([]byte(k.Secret))
	}
	return all
}

// find returns the name of a secret's key. It takes the same time for all secrets of a length, whether they
// are accepted or not.
func (all keys) find(secret string) (name string, ok bool) {
	hash := sha256.Sum256([]byte(secret))
	found := -1
	for i := range all {
		found = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(hash[:], all[i].hash[:]), i, found)
	}
	if found < 0 {
		return "", false
	}
	return all[found].name, true
}

// who returns whose request it is: the name of its key, or without keys its address.
func (s *Server) who(r *http.Request) (string, error) {
	if len(s.keys) == 0 {
		host, _, err := net.SplitHostPort(r.RemoteAddr)
		if err != nil {
			host = r.RemoteAddr
		}
		return host, nil
	}
	kind, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if strings.EqualFold(kind, "Bearer") {
		if name, ok := s.keys.find(strings.TrimSpace(secret)); ok {
			return name, nil
		}
	}
	return "", fail(http.StatusUnauthorized, "invalid_request_error", "invalid_api_key", "the API key is missing or wrong: want the header Authorization: Bearer KEY")
}
