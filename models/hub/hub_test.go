package hub

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/internal/hubtest"
	_ "github.com/attn-go/attn/models/internal/refs" // the flag -refs
)

// large is the content of a large file.
var large = bytes.Repeat([]byte("0123456789abcdef"), 1<<14)

// newHub returns a hub of one model with some files.
func newHub(t *testing.T, files ...string) (*hubtest.Hub, *Client) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range files {
		at := filepath.Join(dir, "org", "name", filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o777); err != nil {
			t.Fatal(err)
		}
		data := []byte("{}\n" + name)
		if e := filepath.Ext(name); e == ".safetensors" || e == ".gguf" || e == ".bin" {
			data = append([]byte(name), large...)
		}
		if err := os.WriteFile(at, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	h := hubtest.New(t, dir)
	return h, &Client{Endpoint: h.URL, Folder: t.TempDir()}
}

// parsed returns a name.
func parsed(t *testing.T, text string) Name {
	t.Helper()
	n, ok := ParseName(text)
	if !ok {
		t.Fatalf("%q is no name", text)
	}
	return n
}

// below returns the files of a folder, with slashes.
func below(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, _ := filepath.Rel(dir, path)
			names = append(names, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestParseName(t *testing.T) {
	for text, want := range map[string]Name{
		"a/b":                  {"a/b", "main", ""},
		"Qwen/Qwen3-0.6B@v1.0": {"Qwen/Qwen3-0.6B", "v1.0", ""},
		"a/b:c/d-Q8_0.gguf":    {"a/b", "main", "c/d-Q8_0.gguf"},
		"a/b@dev:c.gguf":       {"a/b", "dev", "c.gguf"},
	} {
		if n, ok := ParseName(text); !ok || n != want {
			t.Errorf("%q: %+v, %v", text, n, ok)
		}
		if n, ok := ParseName(want.String()); !ok || n != want {
			t.Errorf("%q: %+v, %v", want, n, ok)
		}
	}
	for _, text := range []string{"", "a", "a/b/c", "/a/b", "./a", "../a", "a/..", "a/b..c", "a/b@..", "a/b@", "a/b:", "a/b:../c", "a/b:/c", "a/b:c//d", "a/b:c\\d", "a/b:c.part", "a/b c", "a/b@c/d", "~/a"} {
		if n, ok := ParseName(text); ok {
			t.Errorf("%q: %+v, want no name", text, n)
		}
	}
}

// TestFetch: of a model those files come that are part of it, once, and it is found without a hub
// afterwards.
func TestFetch(t *testing.T) {
	folder := []string{"1_Pooling/config.json", "README.md", "config.json", "model.safetensors", "tokenizer.json"}
	for what, c := range map[string]struct {
		name        string
		there, want []string
		at          string
	}{
		"a folder":               {"org/name", append(folder, "onnx/model.onnx", "onnx/config.json", "pytorch_model.bin", "tf_model.h5", "images/a.png", "consolidated.safetensors", "b-Q8_0.gguf"), folder, "."},
		"weights of PyTorch":     {"org/name", []string{"config.json", "pytorch_model.bin", "training_args.bin"}, []string{"config.json", "pytorch_model.bin"}, "."},
		"the only GGUF file":     {"org/name", []string{"README.md", "a.gguf"}, []string{"a.gguf"}, "a.gguf"},
		"a GGUF file of several": {"org/name@v2:b.gguf", []string{"config.json", "a.gguf", "b.gguf"}, []string{"b.gguf"}, "b.gguf"},
		"a GGUF file in parts":   {"org/name:q/a-00001-of-00002.gguf", []string{"q/a-00001-of-00002.gguf", "q/a-00002-of-00002.gguf", "q/b-00001-of-00002.gguf"}, []string{"q/a-00001-of-00002.gguf", "q/a-00002-of-00002.gguf"}, "q/a-00001-of-00002.gguf"},
	} {
		t.Run(what, func(t *testing.T) {
			h, client := newHub(t, c.there...)
			n := parsed(t, c.name)
			if _, err := client.Find(n); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("before: %v", err)
			}
			progress := map[string]int64{}
			client.Progress = func(file string, done, total int64) { progress[file] = done - total }
			path, err := client.Fetch(t.Context(), n)
			if err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(client.Folder, "hub", "org", "name", hubtest.Commit)
			if want := filepath.Join(dir, filepath.FromSlash(c.at)); path != want {
				t.Errorf("at %s, want %s", path, want)
			}
			got := below(t, dir)
			if slices.Sort(c.want); !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
			if names := slices.Sorted(maps.Keys(progress)); !slices.Equal(names, c.want) || slices.Max(slices.Collect(maps.Values(progress))) != 0 {
				t.Errorf("progress %v", progress)
			}
			for _, name := range got {
				data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
				if err != nil || !bytes.Contains(data, []byte(name)) {
					t.Errorf("%s: %v, or other content", name, err)
				}
			}
			h.Asked()
			if again, err := client.Fetch(t.Context(), n); err != nil || again != path || len(h.Asked()) > 0 {
				t.Errorf("again: %s, %v, and the hub was asked", again, err)
			}
			offline := &Client{Endpoint: "http://127.0.0.1:1", Folder: client.Folder}
			if again, err := offline.Find(n); err != nil || again != path {
				t.Errorf("without a hub: %s, %v", again, err)
			}
		})
	}
}

// TestResume: a download that breaks goes on where it was, in the same call and in the next
// program, also if the hub begins again, and the file is right in the end.
func TestResume(t *testing.T) {
	for _, ranges := range []bool{true, false} {
		h, client := newHub(t, "a.gguf")
		whole := append([]byte("a.gguf"), large...)
		broken := 0
		h.Serve = func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.HasSuffix(r.URL.Path, "a.gguf") {
				return false
			}
			if !ranges {
				r.Header.Del("Range")
			}
			if broken++; broken > 2 {
				return false
			}
			from := 0
			if r.Header.Get("Range") != "" {
				from = 1000
				w.WriteHeader(http.StatusPartialContent)
			}
			w.Write(whole[from : 1000*broken])
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
		path, err := client.Fetch(t.Context(), parsed(t, "org/name"))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, whole) {
			t.Errorf("%v, or other content", err)
		}
		asked := h.Asked()
		if last := asked[len(asked)-1]; len(asked) != 4 || ranges && !strings.HasSuffix(last, " bytes=2000-") {
			t.Errorf("asked %q", asked)
		}
	}
	// The first program is stopped.
	h, client := newHub(t, "a.gguf")
	ctx, stop := context.WithCancel(t.Context())
	client.Progress = func(_ string, done, _ int64) {
		if done > 50000 {
			stop()
		}
	}
	h.Serve = func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "a.gguf") || ctx.Err() != nil {
			return false
		}
		w.Write(append([]byte("a.gguf"), large[:60000]...))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	}
	n := parsed(t, "org/name")
	if _, err := client.Fetch(ctx, n); !errors.Is(err, context.Canceled) {
		t.Fatalf("stopped: %v", err)
	}
	if _, err := client.Find(n); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a part of a file counts as the file: %v", err)
	}
	h.Asked()
	next := &Client{Endpoint: h.URL, Folder: client.Folder}
	if _, err := next.Fetch(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	if asked := h.Asked(); len(asked) != 1 || !strings.Contains(asked[0], " bytes=") {
		t.Errorf("asked %q, want the rest of the file alone", asked)
	}
}

// TestBreaks: as long as connections bring something, any number of them may break.
func TestBreaks(t *testing.T) {
	h, client := newHub(t, "a.gguf")
	whole := append([]byte("a.gguf"), large...)
	at, size := 0, 1000
	h.Serve = func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "a.gguf") || at >= 3*attempts*size {
			return false
		}
		if at > 0 {
			w.WriteHeader(http.StatusPartialContent)
		}
		w.Write(whole[at:][:size])
		at += size
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	path, err := client.Fetch(t.Context(), parsed(t, "org/name"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, whole) {
		t.Errorf("%v, or other content", err)
	}
}

// A clock is over as soon as a read begins after so many bytes.
type clock struct {
	left *int64
	over func()
}

func (c *clock) Reset(time.Duration) bool {
	if *c.left <= 0 {
		*c.left = 1 << 60 // once
		c.over()
	}
	return true
}

func (c *clock) Stop() bool { return true }

// TestStall: a connection that stays open and brings nothing is left, and another one goes on.
func TestStall(t *testing.T) {
	h, client := newHub(t, "a.gguf")
	whole := append([]byte("a.gguf"), large...)
	left := int64(1 << 60)
	client.timer = func(_ time.Duration, over func()) stopper { return &clock{&left, over} }
	client.Progress = func(_ string, done, _ int64) {
		if done == 1000 {
			left = 0
		}
	}
	stalls := 0
	h.Serve = func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "a.gguf") || stalls > 0 {
			return false
		}
		stalls++
		w.Write(whole[:1000])
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		return true
	}
	path, err := client.Fetch(t.Context(), parsed(t, "org/name"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, whole) {
		t.Errorf("%v, or other content", err)
	}
	if asked := h.Asked(); !strings.HasSuffix(asked[len(asked)-1], " bytes=1000-") {
		t.Errorf("asked %q", asked)
	}
}

// TestTwo: of two clients of a folder one fetches a file, and the other one waits for it.
func TestTwo(t *testing.T) {
	if !slices.Contains([]string{"linux", "darwin", "dragonfly", "freebsd", "netbsd", "openbsd"}, runtime.GOOS) {
		t.Skip("no locks here")
	}
	h, first := newHub(t, "a.gguf")
	whole := append([]byte("a.gguf"), large...)
	began, asked := make(chan struct{}), make(chan struct{}, 8)
	h.Serve = func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "a.gguf") {
			return false
		}
		if r.Header.Get("Range") != "" {
			t.Error("both fetch the file")
			asked <- struct{}{}
			return false
		}
		w.Write(whole[:1000])
		w.(http.Flusher).Flush()
		<-asked
		w.Write(whole[1000:])
		return true
	}
	second := &Client{Endpoint: first.Endpoint, Folder: first.Folder, onPause: func() {
		select {
		case asked <- struct{}{}: // so it waits
		default:
		}
	}}
	start := sync.OnceFunc(func() { close(began) })
	first.Progress = func(string, int64, int64) { start() }
	results := make(chan error, 2)
	fetch := func(c *Client) {
		path, err := c.Fetch(t.Context(), Name{Repo: "org/name", Revision: "main"})
		if err == nil {
			var got []byte
			if got, err = os.ReadFile(path); err == nil && !bytes.Equal(got, whole) {
				err = errors.New("other content")
			}
		}
		results <- err
	}
	go fetch(first)
	<-began
	go fetch(second)
	for range 2 {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	if names := below(t, filepath.Join(first.Folder, "hub", "org", "name", hubtest.Commit)); !slices.Equal(names, []string{"a.gguf"}) {
		t.Errorf("%q", names)
	}
}

// TestMoved: a part that another client has given its name is not the part any more.
func TestMoved(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if !isAt(f, name) {
		t.Error("a new file is not at its name")
	}
	if err := os.WriteFile(name+"2", nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if isAt(f, name+"2") || isAt(f, name+"3") {
		t.Error("it is at another name")
	}
}

// TestWrong: what is not the file is an error that says what came, and leaves no file.
func TestWrong(t *testing.T) {
	wrong := append([]byte("a.gguX"), large...)
	for what, c := range map[string]struct {
		serve func(w http.ResponseWriter, r *http.Request)
		want  string
	}{
		"other bytes": {func(w http.ResponseWriter, _ *http.Request) { w.Write(wrong) }, "with the hash"},
		"a page": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.Write([]byte("<html>Sign in"))
		}, "13 bytes of text/html, want the file of 262150 bytes"},
		"a pointer of LFS": {func(w http.ResponseWriter, _ *http.Request) {
			w.Write([]byte("version https://git-lfs.github.com/spec/v1\n"))
		}, "43 bytes of text/plain"},
		"more bytes": {func(w http.ResponseWriter, _ *http.Request) { w.(http.Flusher).Flush(); w.Write(append(wrong, 1)) }, "want the file of 262150 bytes"},
		"401":        {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) }, "HF_TOKEN"},
		"500":        {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, "status 500"},
		"a redirection out": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://example.invalid/", http.StatusFound)
		}, "a redirection to http://example.invalid/"},
	} {
		h, client := newHub(t, "a.gguf")
		h.Serve = func(w http.ResponseWriter, r *http.Request) bool {
			if strings.HasPrefix(r.URL.Path, "/api/") {
				return false
			}
			c.serve(w, r)
			return true
		}
		n := parsed(t, "org/name")
		if _, err := client.Fetch(t.Context(), n); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", what, err, c.want)
		}
		if _, err := client.Find(n); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: there is a file: %v", what, err)
		}
		h.Serve = nil
		if _, err := client.Fetch(t.Context(), n); err != nil {
			t.Errorf("%s: afterwards: %v", what, err)
		}
	}
}

// TestListings: what a hub says of a model is checked before a file is written.
func TestListings(t *testing.T) {
	file := func(name, rest string) string {
		return `{"sha": "` + hubtest.Commit + `", "siblings": [{"rfilename": "` + name + `", ` + rest + `}]}`
	}
	const hash = `"blobId": "0123456789012345678901234567890123456789"`
	var bad *kernel.Error
	for body, want := range map[string]string{
		`{}`:                                   "a commit",
		`{"sha": "../../../../tmp"}`:           "a commit",
		`<html>`:                               "invalid character",
		file("../a.gguf", `"size": 1, `+hash):  "below the model's folder",
		file("/a.gguf", `"size": 1, `+hash):    "below the model's folder",
		file(`a\\b.gguf`, `"size": 1, `+hash):  "below the model's folder",
		file("a.gguf", `"size": -1, `+hash):    "-1 bytes",
		file("a.gguf", `"size": 1`):            "SHA-256",
		file("a.gguf", `"size": 1, "lfs": {}`): "SHA-256",
		file("a.txt", `"size": 1, `+hash):      "want a model",
		strings.Replace(file("a.gguf", `"size": 1, `+hash), "0123456789abcdef01234567\"", "ffffffffffffffffffffffff\"", 1): "404",
	} {
		h, client := newHub(t, "b.gguf")
		h.Serve = func(w http.ResponseWriter, r *http.Request) bool {
			if strings.HasPrefix(r.URL.Path, "/api/") {
				w.Write([]byte(body))
				return true
			}
			return false
		}
		_, err := client.Fetch(t.Context(), parsed(t, "org/name"))
		if err == nil || !strings.Contains(err.Error(), want) || !errors.As(err, &bad) && want != "invalid character" {
			t.Errorf("%s: %v, want %q", body, err, want)
		}
	}
	_, client := newHub(t, "a-Q8_0.gguf", "a-Q4_0.gguf")
	for name, want := range map[string]string{
		"org/name":        "one of them, as org/name:a-Q4_0.gguf: a-Q4_0.gguf, a-Q8_0.gguf",
		"org/name:b.gguf": "no such file", "org/name:config.json": "want a GGUF file", "org/name@" + strings.Repeat("a", 40): "the commit " + hubtest.Commit, "org/other": "404",
	} {
		if _, err := client.Fetch(t.Context(), parsed(t, name)); !errors.As(err, &bad) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	client.Endpoint = "http://example.invalid"
	if _, err := client.Fetch(t.Context(), parsed(t, "org/third")); !errors.As(err, &bad) || !strings.Contains(err.Error(), "https://") {
		t.Errorf("a hub without TLS: %v", err)
	}
}

// TestToken: the token comes from where the tools of Hugging Face have it, and goes to the hub, not
// to where it redirects.
func TestToken(t *testing.T) {
	home := t.TempDir()
	for name, value := range map[string]string{"HF_TOKEN": "", "HF_TOKEN_PATH": "", "HF_HOME": home, "ATTN_HUB": ""} {
		t.Setenv(name, value)
	}
	if c := New("x"); c.Token != "" || c.endpoint() != Endpoint {
		t.Errorf("%+v", c)
	}
	if err := os.WriteFile(filepath.Join(home, "token"), []byte("saved\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if c := New("x"); c.Token != "saved" {
		t.Errorf("%+v", c)
	}
	t.Setenv("ATTN_HUB", "https://hub.example")
	if c := New("x"); c.Token != "" {
		t.Error("another hub gets the token of Hugging Face")
	}
	t.Setenv("HF_TOKEN", "secret")
	h, client := newHub(t, "a.gguf")
	t.Setenv("ATTN_HUB", h.URL+"/")
	folder := client.Folder
	client = New(folder)
	var outside []string // with a host of another port, and with another name
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if outside = append(outside, r.Header.Get("Authorization")); len(outside) == 1 {
			http.Redirect(w, r, strings.Replace("http://"+r.Host, "127.0.0.1", "localhost", 1)+"/blob", http.StatusFound)
			return
		}
		w.Write(append([]byte("a.gguf"), large...))
	}))
	defer elsewhere.Close()
	h.Serve = func(w http.ResponseWriter, r *http.Request) bool {
		if got := r.Header.Get("Authorization"); got != "Bearer secret" {
			t.Errorf("%s: Authorization %q", r.URL, got)
		}
		if strings.HasPrefix(r.URL.Path, "/api/") {
			return false
		}
		http.Redirect(w, r, elsewhere.URL+"/blob", http.StatusFound)
		return true
	}
	if _, err := client.Fetch(t.Context(), parsed(t, "org/name")); err != nil || !slices.Equal(outside, []string{"", ""}) {
		t.Errorf("%v; other hosts got %q", err, outside)
	}
}
