// Package hubtest serves a folder as a hub of models, for tests.
package hubtest

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Commit is the commit of every revision.
const Commit = "0123456789abcdef0123456789abcdef01234567"

// A Hub is a hub whose models are folders below one. Its functions may be changed between requests.
type Hub struct {
	URL string

	// Serve, if not nil, answers a request in place of the hub if it returns true.
	Serve func(w http.ResponseWriter, r *http.Request) bool

	// Large says which files are large, whose SHA-256 the hub knows; without it files of more than
	// 1000 bytes are.
	Large func(name string) bool

	folder string
	mu     sync.Mutex
	asked  []string
}

// New returns a hub of the models of a folder, ORG/NAME.
func New(t testing.TB, folder string) *Hub {
	h := &Hub{folder: folder}
	server := httptest.NewServer(http.HandlerFunc(h.serve))
	t.Cleanup(server.Close)
	h.URL = server.URL
	return h
}

// Asked returns the requests since the last call: the path, and what Range has.
func (h *Hub) Asked() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := h.asked
	h.asked = nil
	return list
}

func (h *Hub) serve(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	h.asked = append(h.asked, strings.TrimSpace(r.URL.Path+" "+r.Header.Get("Range")))
	h.mu.Unlock()
	if h.Serve != nil && h.Serve(w, r) {
		return
	}
	if rest, ok := strings.CutPrefix(r.URL.Path, "/api/models/"); ok {
		repo, _, _ := strings.Cut(rest, "/revision/")
		h.list(w, filepath.Join(h.folder, filepath.FromSlash(repo)))
		return
	}
	repo, file, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/resolve/"+Commit+"/")
	data, err := os.ReadFile(filepath.Join(h.folder, filepath.FromSlash(repo), filepath.FromSlash(file)))
	if !ok || err != nil {
		http.NotFound(w, r)
		return
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}

// list writes what a folder has.
func (h *Hub) list(w http.ResponseWriter, dir string) {
	siblings := []map[string]any{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		s := map[string]any{"rfilename": filepath.ToSlash(name), "size": len(data)}
		blob := sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", len(data)), data...))
		s["blobId"] = hex.EncodeToString(blob[:])
		if h.Large != nil && h.Large(name) || h.Large == nil && len(data) > 1000 {
			sum := sha256.Sum256(data)
			s["blobId"] = strings.Repeat("a", 40) // of the pointer
			s["lfs"] = map[string]any{"sha256": hex.EncodeToString(sum[:]), "size": len(data), "pointerSize": 130}
		}
		siblings = append(siblings, s)
		return err
	})
	if err != nil || len(siblings) == 0 {
		http.Error(w, `{"error":"Repository not found"}`, http.StatusNotFound)
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"sha": Commit, "siblings": siblings, "private": false}) // a client that is gone needs no error
}
