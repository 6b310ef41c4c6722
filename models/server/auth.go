package server

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/attn-go/attn/models/server/internal/dialect"
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

// find returns the name of a secret's key, and its hash. It takes the same time for all secrets of
// a length, whether they are accepted or not.
func (all keys) find(secret string) (name, shelf string, ok bool) {
	hash := sha256.Sum256([]byte(secret))
	found := -1
	for i := range all {
		found = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(hash[:], all[i].hash[:]), i, found)
	}
	if found < 0 {
		return "", "", false
	}
	return all[found].name, string(hash[:]), true
}

// who returns whose request it is: the name of its key, or without keys its address; and the shelf
// of what is kept for it, which is its own, as several keys may have one name.
func (s *Server) who(r *http.Request) (name, shelf string, err error) {
	if o := originOf(r.Context()); o != nil {
		return o.Key, o.Key, nil
	}
	if len(s.keys) == 0 {
		host, _, err := net.SplitHostPort(r.RemoteAddr)
		if err != nil {
			host = r.RemoteAddr
		}
		return host, host, nil
	}
	kind, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if key := r.Header.Get("X-Api-Key"); kind == "" && key != "" { // as clients of Anthropic send it
		kind, secret = "Bearer", key
	}
	if strings.EqualFold(kind, "Bearer") {
		if name, shelf, ok := s.keys.find(strings.TrimSpace(secret)); ok {
			return name, shelf, nil
		}
	}
	return "", "", dialect.Fail(http.StatusUnauthorized, "invalid_api_key", "the API key is missing or wrong: want the header Authorization: Bearer KEY, or X-Api-Key: KEY")
}

// foreign reports a request that a page of another site makes in the browser of somebody who may
// use the server. With keys there is none, as such a page has no key.
func (s *Server) foreign(r *http.Request) error {
	if len(s.keys) > 0 || originOf(r.Context()) != nil {
		return nil
	}
	if !s.trusted(r) && s.origins.Check(r) != nil {
		return dialect.Fail(http.StatusForbidden, "", "the request is one of another site, of the origin %.100q: want one of Settings.Origins (serve -origins)", r.Header.Get("Origin"))
	}
	// A name that leads here by DNS makes every page a page of this site.
	if to, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr); ok && to.IP.IsLoopback() && !s.known(r.Host) {
		return dialect.Fail(http.StatusForbidden, "", "the header Host is %.100q, want localhost, a loopback address, or one of Settings.Hosts (serve -host)", r.Host)
	}
	return nil
}

// known tells whether a header Host names this machine to itself, or stands in the settings.
func (s *Server) known(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	ip := net.ParseIP(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || ip != nil && ip.IsLoopback() || slices.ContainsFunc(s.s.Hosts, func(name string) bool { return strings.EqualFold(name, host) })
}
