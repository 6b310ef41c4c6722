package relay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models"
	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/promptcache"
	"github.com/attn-go/attn/models/server"
)

// openPages returns the store that a worker of its own connection has.
func openPages(t *testing.T, s *hub.Server, most int64) *Pages {
	t.Helper()
	conn, err := hub.Connect(t.Context(), s.Client())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	p := &Pages{Most: most, patience: time.Hour} // no page is late because others have the processors
	if err := p.Connect(t.Context(), conn); err != nil {
		t.Fatal(err)
	}
	return p
}

func newNATS(t *testing.T) *hub.Server {
	t.Helper()
	s, err := hub.Serve(t.Context(), hub.ServerConfig{Port: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// pageOf returns a page of some bytes, which its key says.
func pageOf(n, size int) (promptcache.Key, []byte) {
	r := rand.NewChaCha8([32]byte{byte(n)})
	page := make([]byte, size)
	r.Read(page)
	return promptcache.First("model", 2).Next([]int32{int32(n), 7}), page
}

func cacheOf(p *Pages) *promptcache.Cache {
	return promptcache.New(p, slog.New(slog.DiscardHandler))
}

// TestSharedCache: a worker goes on with a conversation that another one has read, of whose pages
// it reads nothing again, with the bytes of a worker that has no cache.
func TestSharedCache(t *testing.T) {
	m, err := models.Open(testdata+"llama-2", models.Options{Generator: decoder.Options{Context: 256, PageSize: 16}})
	if err != nil {
		t.Fatal(err)
	}
	answer := func(c *promptcache.Cache, body string) string {
		t.Helper()
		settings := fixed()
		settings.PromptCache = c
		s, err := server.New(settings, server.NewModel(chatModel, m, "same"))
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest("POST", "/v1/completions", strings.NewReader(body)))
		if err := s.Close(context.Background()); err != nil || w.Code != 200 { // all pages are written then
			t.Fatal(err, w.Code, w.Body)
		}
		return w.Body.String()
	}
	const prompt = `"prompt": "The keys and values of this text have the same bits on every CPU, so that one computes them`
	first, next := `{`+prompt+`", "max_tokens": 20}`, `{`+prompt+` and all others go on with it", "max_tokens": 40, "logprobs": 3}`
	want := answer(nil, next)
	nats := newNATS(t)
	a, b := cacheOf(openPages(t, nats, 1<<24)), cacheOf(openPages(t, nats, 1<<24))
	answer(a, first)
	if got := answer(b, next); got != want {
		t.Errorf("with the pages of another worker:\n%s\nwithout:\n%s", got, want)
	}
	wrote, read := a.Stats(), b.Stats()
	if wrote.Written < 3 || read.Read < 3 || wrote.Failed+read.Failed+read.Damaged != 0 {
		t.Errorf("one has written %+v, the other one read %+v, want 3 pages or more", wrote, read)
	}
}

// TestPages: what one worker puts another one gets, of no chunk, one and many; nothing else is
// there; before there is a connection nothing is.
func TestPages(t *testing.T) {
	nats := newNATS(t)
	a, b := openPages(t, nats, 1<<26), openPages(t, nats, 1<<26)
	for n, size := range []int{0, 1, chunkBytes - 100, chunkBytes, 3*chunkBytes + 7} {
		k, page := pageOf(n, size)
		if got, err := b.Get(t.Context(), k); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%d bytes that nobody has put: %d bytes, %v", size, len(got), err)
		}
		for range 2 { // the second time it is there
			if err := a.Put(t.Context(), k, page); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := b.Get(t.Context(), k); err != nil || !bytes.Equal(got, page) {
			t.Errorf("%d bytes: got %d, %v", size, len(got), err)
		}
	}
	k, page := pageOf(9, 10)
	for _, err := range []error{new(Pages).Put(t.Context(), k, page), new(Pages).Remove(t.Context(), k, page)} {
		if !errors.Is(err, errNoStore) {
			t.Errorf("without a connection: %v", err)
		}
	}
}

// TestPagesBounded: the server keeps no more than it may; of what it has dropped nothing is
// returned, and it can be put again.
func TestPagesBounded(t *testing.T) {
	const size, room = 2*chunkBytes + 5, 4
	most := int64(room * (size + 3*perChunk + perObject))
	p := openPages(t, newNATS(t), most)
	c, s := cacheOf(p), p.open.Load()
	for n := range 3 * room {
		k, page := pageOf(n, size)
		c.Put(t.Context(), k, page)
		if info, err := s.stream.Info(t.Context()); err != nil || info.State.Bytes > uint64(most) {
			t.Fatalf("%d bytes, %v, want at most %d", info.State.Bytes, err, most)
		}
		if !bytes.Equal(c.Get(t.Context(), k), page) {
			t.Errorf("page %d is not there", n)
		}
	}
	there := 0
	for n := range 3 * room {
		if k, page := pageOf(n, size); c.Get(t.Context(), k) != nil {
			if there++; n < 2*room {
				t.Errorf("page %d of %d bytes is still there", n, len(page))
			}
		}
	}
	k, page := pageOf(0, size)
	c.Put(t.Context(), k, page)
	if !bytes.Equal(c.Get(t.Context(), k), page) || there < room-1 {
		t.Errorf("%d pages were there, want %d; the first one can be put again", there, room)
	}
	large := &kernel.Error{}
	if err := p.Put(t.Context(), k, make([]byte, most)); !errors.As(err, &large) || large.Where != "relay: a page" {
		t.Errorf("a page of more than the store takes: %v", err)
	}
	if s := c.Stats(); s.Failed+s.Damaged != 0 {
		t.Errorf("%+v", s)
	}
}

// TestPagesDamaged: pages that are not what was put are never used and make room for new ones; who
// read such a page does not remove the new one.
func TestPagesDamaged(t *testing.T) {
	nats := newNATS(t)
	p := openPages(t, nats, 1<<26)
	c, s := cacheOf(p), p.open.Load()
	js, err := jetstream.New(s.conn.Conn, jetstream.WithDefaultTimeout(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	k, page := pageOf(1, 2*chunkBytes)
	for name, damage := range map[string]func(o *object) error{
		"no chunk": func(o *object) error { return s.stream.Purge(t.Context(), jetstream.WithPurgeSubject(s.chunks(o.id))) },
		"another chunk": func(o *object) error {
			_, err := js.Publish(t.Context(), s.chunks(o.id), []byte("more"))
			return errors.Join(err, s.stream.DeleteMsg(t.Context(), o.note-1))
		},
		"a note that is none": func(*object) error {
			_, err := js.Publish(t.Context(), s.noteOf(k), []byte(`{"nuid": 7`))
			return err
		},
		"a note of other chunks": func(*object) error {
			_, err := js.Publish(t.Context(), s.noteOf(k), []byte(`{"nuid": "x.>", "chunks": 4294967295}`))
			return err
		},
		"a note without chunks": func(*object) error {
			_, err := js.Publish(t.Context(), s.noteOf(k), []byte(`{"nuid": "x"}`))
			return err
		},
		"more chunks than noted": func(o *object) error {
			_, err := js.Publish(t.Context(), s.chunks(o.id), []byte("more"))
			if err == nil {
				_, err = js.Publish(t.Context(), s.noteOf(k), fmt.Appendf(nil, `{"nuid": %q, "chunks": 4294967295, "size": %d}`, o.id, len(o.data)))
			}
			return err
		},
		"an object of others": func(*object) error {
			_, err := s.objects.PutString(t.Context(), k.String(), "what is it?")
			return err
		},
		"an object that others have removed": func(*object) error { return s.objects.Delete(t.Context(), k.String()) },
	} {
		c.Put(t.Context(), k, page)
		o, err := s.read(t.Context(), k)
		if err == nil {
			err = damage(o)
		}
		if err != nil {
			t.Fatal(name, err)
		}
		before := c.Stats()
		late, err := p.Get(t.Context(), k) // of a worker that is slow
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
		if late != nil && strings.HasPrefix(name, "more") {
			t.Errorf("%s: %d bytes were read", name, len(late))
		}
		if c.Get(t.Context(), k) != nil {
			t.Errorf("%s: it is used", name)
		}
		if after := c.Stats(); (after.Damaged > before.Damaged) != (late != nil) || after.Failed > 0 {
			t.Errorf("%s: %+v, and it was %+v", name, after, before)
		}
		c.Put(t.Context(), k, page)
		if err := p.Remove(t.Context(), k, late); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !bytes.Equal(c.Get(t.Context(), k), page) {
			t.Errorf("%s: the new page is not there", name)
		}
		c.Discard(t.Context(), k, page, errors.New("of no use"))
		if _, err := s.read(t.Context(), k); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: a page that cannot be used is still there: %v", name, err)
		}
	}
}

// TestPagesTogether: workers that put the same pages at once, and read them, get what was put or
// nothing, and in the end all is there.
func TestPagesTogether(t *testing.T) {
	nats := newNATS(t)
	var all sync.WaitGroup
	pages := openPages(t, nats, 1<<26)
	for range 3 {
		p := openPages(t, nats, 1<<26)
		all.Go(func() {
			for n := range 8 {
				k, page := pageOf(n, chunkBytes+n)
				if err := p.Put(t.Context(), k, page); err != nil {
					t.Error(err)
				}
				if got, err := p.Get(t.Context(), k); !errors.Is(err, fs.ErrNotExist) && (err != nil || !bytes.Equal(got, page)) {
					t.Errorf("page %d: %d bytes, %v", n, len(got), err)
				}
			}
		})
	}
	all.Wait()
	for n := range 8 {
		k, page := pageOf(n, chunkBytes+n)
		if got, err := pages.Get(t.Context(), k); err != nil || !bytes.Equal(got, page) {
			t.Errorf("page %d: %d bytes, %v", n, len(got), err)
		}
	}
}

// TestPagesLimit: a store has the limit that it was made with, and the log of others says so.
// Without a server there is an error at once.
func TestPagesLimit(t *testing.T) {
	nats := newNATS(t)
	openPages(t, nats, 1<<20)
	conn, err := hub.Connect(t.Context(), nats.Client())
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	p := &Pages{Most: 1 << 21, patience: time.Hour, Log: slog.New(slog.NewTextHandler(&log, nil))}
	if err := p.Connect(t.Context(), conn); err != nil || !strings.Contains(log.String(), fmt.Sprint("bytes=", 1<<20)) {
		t.Errorf("%v, %q", err, log.String())
	}
	conn.Close()
	k, page := pageOf(1, 10)
	if _, err := p.Get(t.Context(), k); err == nil {
		t.Error("a page without a server")
	}
	if err := p.Put(t.Context(), k, page); err == nil {
		t.Error("a page is put without a server")
	}
}

// TestPagesHang: a store that does not answer is waited for once, and not by each text.
func TestPagesHang(t *testing.T) {
	p := openPages(t, newNATS(t), 1<<20)
	p.patience, p.rest = time.Second, time.Hour
	s := p.open.Load()
	js, err := jetstream.New(s.conn.Conn, jetstream.WithDefaultTimeout(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	silent, err := s.conn.SubscribeSync("$JS.API.DIRECT.GET.>") // who has the stream's place, and gives no answer
	if err == nil {
		err = errors.Join(js.DeleteStream(t.Context(), "OBJ_"+s.bucket), s.conn.Flush())
	}
	if err != nil {
		t.Fatal(err)
	}
	k, page := pageOf(1, 10)
	if _, err := p.Get(t.Context(), k); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the first time: %v", err)
	}
	for range 3 {
		if _, err := p.Get(t.Context(), k); !errors.Is(err, errRests) {
			t.Errorf("then: %v", err)
		}
	}
	if err := p.Put(t.Context(), k, page); !errors.Is(err, errRests) {
		t.Errorf("a page that is put then: %v", err)
	}
	if err := s.conn.Flush(); err != nil {
		t.Fatal(err)
	}
	if n, _, err := silent.Pending(); n != 1 || err != nil {
		t.Errorf("%d requests, %v", n, err)
	}
}

// TestPagesOpenLater: a store that cannot be opened yet is opened later, and until then no page is
// there.
func TestPagesOpenLater(t *testing.T) {
	nats, err := hub.Serve(t.Context(), hub.ServerConfig{Port: -1, MaxStore: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer nats.Close()
	conn, err := hub.Connect(t.Context(), nats.Client())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	p := &Pages{Most: 1 << 30}
	if err := p.Open(t.Context(), conn); err != nil {
		t.Fatal(err)
	}
	k, page := pageOf(1, 10)
	if _, err := p.Get(t.Context(), k); !errors.Is(err, errNoStore) {
		t.Errorf("before it is open: %v", err)
	}
	if err := openPages(t, nats, 1<<16).Put(t.Context(), k, page); err != nil { // of another worker, with a limit that the server has room for
		t.Fatal(err)
	}
	for p.open.Load() == nil {
		time.Sleep(time.Millisecond)
	}
	if got, err := p.Get(t.Context(), k); err != nil || !bytes.Equal(got, page) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}
