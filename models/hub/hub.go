package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/attn-go/attn/kernel"
)

// Endpoint is the hub that is asked if ATTN_HUB names no other one.
const Endpoint = "https://huggingface.co"

// A Client fetches models of a hub.
type Client struct {
	Endpoint string // default [Endpoint]
	Token    string // of someone who may read models that not all may, "" for none; it is sent to the endpoint alone
	Folder   string // that keeps models

	// Progress, if not nil, is told how many bytes of a file are there.
	Progress func(file string, done, total int64)

	onPause func()                              // a test's, when another client has a file
	timer   func(time.Duration, func()) stopper // a test's clock, or nil
}

// New returns a client for the hub that ATTN_HUB names, or [Endpoint]. Its token comes from
// HF_TOKEN, or for [Endpoint] alone from where the tools of Hugging Face save it at a login.
func New(folder string) *Client {
	c := &Client{Endpoint: os.Getenv("ATTN_HUB"), Token: os.Getenv("HF_TOKEN"), Folder: folder}
	if c.Token == "" && c.endpoint() == Endpoint {
		c.Token = savedToken()
	}
	return c
}

// savedToken returns the token that was saved by a login, or "".
func savedToken() string {
	at := os.Getenv("HF_TOKEN_PATH")
	if home := os.Getenv("HF_HOME"); at == "" && home != "" {
		at = filepath.Join(home, "token")
	}
	if home, err := os.UserHomeDir(); at == "" && err == nil {
		at = filepath.Join(home, ".cache", "huggingface", "token")
	}
	data, err := os.ReadFile(at)
	if err != nil {
		return "" // nobody has logged in
	}
	return strings.TrimSpace(string(data))
}

// A File is a file of a revision.
type File struct {
	Name   string // with slashes
	Size   int64
	SHA256 string // of a large file
	SHA1   string // of a small one, as git computes it: with its size before it
}

// A listing is what a revision has.
type listing struct {
	Commit string
	Files  []File
}

// place returns where the files of a repository lie.
func (c *Client) place(n Name) string {
	return filepath.Join(c.Folder, "hub", filepath.FromSlash(n.Repo))
}

// Find returns the path of a model that was fetched, without a network: a folder, or a GGUF file.
// It is an [fs.ErrNotExist] if a file of it is missing.
func (c *Client) Find(n Name) (path string, err error) {
	l, err := c.known(n)
	if err != nil {
		return "", errors.Join(err, fs.ErrNotExist) // what cannot be read is asked for again
	}
	files, at, err := l.choose(n)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(c.place(n), l.Commit)
	for _, f := range files {
		if info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(f.Name))); err != nil || info.Size() != f.Size {
			return "", errors.Join(err, fs.ErrNotExist)
		}
	}
	return filepath.Join(dir, filepath.FromSlash(at)), nil
}

// known returns what is known of a revision that was asked for before.
func (c *Client) known(n Name) (*listing, error) {
	commit := n.Revision
	if !commitForm.MatchString(commit) {
		data, err := os.ReadFile(filepath.Join(c.place(n), "refs", n.Revision))
		if err != nil {
			return nil, err
		}
		commit = string(data)
	}
	data, err := os.ReadFile(filepath.Join(c.place(n), commit+".json"))
	if err != nil {
		return nil, err
	}
	l := &listing{}
	if err := json.Unmarshal(data, l); err != nil {
		return nil, err
	}
	return l, l.check()
}

var commitForm = regexp.MustCompile(`^[0-9a-f]{40}$`)

// check reports a listing that is none.
func (l *listing) check() error {
	if !commitForm.MatchString(l.Commit) {
		return &kernel.Error{Where: "hub: sha", Got: fmt.Sprintf("%.50q", l.Commit), Want: "a commit of 40 digits"}
	}
	for _, f := range l.Files {
		if !isLocal(f.Name) || f.Size < 0 || !isHash(f.SHA256, 64) && !isHash(f.SHA1, 40) {
			return &kernel.Error{Where: "hub: siblings", Got: fmt.Sprintf("%.200q of %d bytes with the hashes %.70q and %.70q", f.Name, f.Size, f.SHA256, f.SHA1), Want: "a file below the model's folder with a SHA-256, or the id of git"}
		}
	}
	return nil
}

// isHash tells whether a text has so many hexadecimal digits.
func isHash(text string, digits int) bool {
	return len(text) == digits && strings.Trim(text, "0123456789abcdef") == ""
}

// Fetch returns the path of a model, of which it fetches the files that are missing. What was
// fetched of a revision stays the model of its name: a branch that has gone on since then has a
// commit that can be asked for. The error names the model and says what to do, or comes from ctx.
func (c *Client) Fetch(ctx context.Context, n Name) (path string, err error) {
	if path, err := c.Find(n); err == nil {
		return path, nil
	}
	l, err := c.known(n)
	if err != nil {
		if l, err = c.list(ctx, n); err != nil {
			return "", err
		}
	}
	files, at, err := l.choose(n)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(c.place(n), l.Commit)
	for _, f := range files {
		if err := c.fetchFile(ctx, n, l.Commit, &f, filepath.Join(dir, filepath.FromSlash(f.Name))); err != nil {
			return "", err
		}
	}
	return filepath.Join(dir, filepath.FromSlash(at)), nil
}

// mostListing is the most bytes of what a hub says of a model.
const mostListing = 64 << 20

// list asks the hub for a revision, and notes what it says.
func (c *Client) list(ctx context.Context, n Name) (*listing, error) {
	response, err := c.get(ctx, "/api/models/"+n.Repo+"/revision/"+url.PathEscape(n.Revision)+"?blobs=true", 0)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if err := statusError(n.String(), response); err != nil {
		return nil, err
	}
	var answer struct {
		SHA      string `json:"sha"`
		Siblings []struct {
			Name string `json:"rfilename"`
			Size int64  `json:"size"`
			ID   string `json:"blobId"`
			LFS  *struct {
				SHA256 string `json:"sha256"`
			} `json:"lfs"`
		} `json:"siblings"`
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, mostListing)).Decode(&answer); err != nil {
		return nil, fmt.Errorf("hub: %s: what %s says of it: %w", n, c.endpoint(), err)
	}
	l := &listing{Commit: answer.SHA}
	for _, s := range answer.Siblings {
		f := File{Name: s.Name, Size: s.Size, SHA1: s.ID}
		if s.LFS != nil {
			f.SHA256, f.SHA1 = s.LFS.SHA256, ""
		}
		l.Files = append(l.Files, f)
	}
	if err := l.check(); err != nil {
		return nil, err
	}
	if commitForm.MatchString(n.Revision) && l.Commit != n.Revision {
		return nil, &kernel.Error{Where: "hub: " + n.String(), Got: "the commit " + l.Commit, Want: "the one that was asked for"}
	}
	data, err := json.MarshalIndent(l, "", " ")
	if err != nil {
		return nil, err
	}
	if err := write(filepath.Join(c.place(n), l.Commit+".json"), data); err != nil {
		return nil, err
	}
	return l, write(filepath.Join(c.place(n), "refs", n.Revision), []byte(l.Commit))
}

// endpoint returns the address of the hub.
func (c *Client) endpoint() string {
	if c.Endpoint == "" {
		return Endpoint
	}
	return strings.TrimRight(c.Endpoint, "/")
}

// patience is how long the hub has for the head of an answer, and then for each piece of its body.
const patience = time.Minute

// errStalled ends a connection that brings nothing.
var errStalled = fmt.Errorf("hub: no byte for %v", patience)

// A stopper is a [time.Timer].
type stopper interface {
	Reset(time.Duration) bool
	Stop() bool
}

// A body ends with errStalled if one Read takes too long.
type body struct {
	io.ReadCloser
	timer  stopper
	ctx    context.Context // of the request
	cancel context.CancelCauseFunc
}

func (b *body) Read(p []byte) (int, error) {
	b.timer.Reset(patience)
	n, err := b.ReadCloser.Read(p)
	if b.timer.Stop(); err != nil && errors.Is(context.Cause(b.ctx), errStalled) {
		err = errStalled
	}
	return n, err
}

func (b *body) Close() error {
	b.timer.Stop()
	b.cancel(nil)
	return b.ReadCloser.Close()
}

// watch makes a body of one that may stall.
func (c *Client) watch(ctx context.Context, cancel context.CancelCauseFunc, of io.ReadCloser) io.ReadCloser {
	newTimer := c.timer
	if newTimer == nil {
		newTimer = func(d time.Duration, f func()) stopper { return time.AfterFunc(d, f) }
	}
	return &body{of, newTimer(patience, func() { cancel(errStalled) }), ctx, cancel}
}

// transport is for all clients, so that connections are kept.
var transport = func() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.ResponseHeaderTimeout = patience
	return t
}()

// get asks the hub for a path, from a byte on.
func (c *Client) get(ctx context.Context, path string, from int64) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	response, err := c.ask(ctx, path, from)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	response.Body = c.watch(ctx, cancel, response.Body)
	return response, nil
}

// ask is get without an end to a body that stalls.
func (c *Client) ask(ctx context.Context, path string, from int64) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.endpoint()+path, nil)
	if err != nil {
		return nil, err
	}
	if r.URL.Scheme != "https" && !isLoopback(r.URL.Hostname()) {
		return nil, &kernel.Error{Where: "hub: ATTN_HUB", Got: c.endpoint(), Want: "an address that begins with https://, or an address of this machine"}
	}
	r.Header.Set("User-Agent", "attn")
	r.Header.Set("Accept-Encoding", "identity")
	if c.Token != "" {
		r.Header.Set("Authorization", "Bearer "+c.Token)
	}
	if from > 0 {
		r.Header.Set("Range", fmt.Sprintf("bytes=%d-", from))
	}
	client := http.Client{Transport: transport, CheckRedirect: func(next *http.Request, via []*http.Request) error {
		if len(via) > 10 || next.URL.Scheme != "https" && !isLoopback(next.URL.Hostname()) {
			return fmt.Errorf("hub: a redirection to %s", next.URL.Redacted())
		}
		if next.URL.Host != r.URL.Host {
			next.Header.Del("Authorization") // which net/http keeps for other ports and for hosts below this one
		}
		return nil
	}}
	return client.Do(r)
}

// isLoopback tells whether a host is this machine.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// statusError reports an answer that is none.
func statusError(what string, r *http.Response) error {
	want := ""
	switch r.StatusCode {
	case http.StatusOK, http.StatusPartialContent:
		return nil
	case http.StatusUnauthorized, http.StatusForbidden:
		want = "a model that all may read, or a token in HF_TOKEN of someone who may, and who has accepted its terms"
	case http.StatusNotFound:
		want = "a model, a revision and a file that there are"
	default:
		want = "status 200"
	}
	return &kernel.Error{Where: "hub: " + what, Got: "status " + r.Status, Want: want}
}
