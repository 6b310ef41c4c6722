package relay

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/promptcache"
)

// Pages is the backend of a prompt cache that all workers of a cluster share: an object store on
// the NATS server. As the server may have one copy of a page and lose it, a page that is gone is
// computed again. Whoever may write pages may answer for workers, too.
//
// The store is bounded by the server: its oldest messages go first. So an object may lack chunks,
// as it may for a moment while several workers put it, and counts as gone then.
//
// Before [Pages.Connect] it has no page.
type Pages struct {
	Most int64        // bytes of the store, for whoever makes it first
	Log  *slog.Logger // nil for none

	open     atomic.Pointer[pageStore]
	rests    atomic.Int64  // until when it is not asked, as it has failed: nanoseconds of Unix time
	rest     time.Duration // how long it is not asked then; 0 means 10 s
	patience time.Duration // how long a page is waited for, or an answer as one is put; 0 means 5 s
}

// A pageStore is an object store that is open.
type pageStore struct {
	conn    *hub.Conn
	bucket  string
	most    int64
	stream  jetstream.Stream
	objects jetstream.ObjectStore
}

// chunkBytes is the size of the parts of an object, of which each is a message and asked for alone.
const chunkBytes = 256 << 10

// perChunk is more than a message takes beside its bytes, and perObject more than what an object
// store notes of an object.
const perChunk, perObject = 256, 1024

// Errors before [Pages.Connect], and for a while after the store has failed.
var (
	errNoStore = errors.New("relay: the prompt cache has no connection yet")
	errRests   = errors.New("relay: the prompt cache has failed a moment ago")
)

// Open is Connect. If the store cannot be opened yet, as while servers choose a leader, Open
// returns and tries again in the background until ctx ends. Until then there are no pages, and
// callers compute. It returns an error only if the user's role does not allow the store.
func (p *Pages) Open(ctx context.Context, conn *hub.Conn) error {
	err := p.Connect(ctx, conn)
	if err == nil || errors.Is(err, nats.ErrPermissionViolation) {
		return err
	}
	go p.openLater(ctx, conn, err)
	return nil
}

// openLater tries again and again. The log says so at first, and then ever more rarely.
func (p *Pages) openLater(ctx context.Context, conn *hub.Conn, err error) {
	for tries := uint(1); err != nil; tries++ {
		if p.Log != nil && bits.OnesCount(tries) == 1 {
			p.Log.Warn("the shared prompt cache cannot be opened yet: texts are computed without it", "error", err)
		}
		if hub.Pause(ctx, time.Second) != nil {
			return
		}
		err = p.Connect(ctx, conn)
	}
	if p.Log != nil {
		p.Log.Info("the shared prompt cache is open")
	}
}

// Connect opens the store, or makes it. A store that exists keeps its limit. The error comes from
// NATS.
func (p *Pages) Connect(ctx context.Context, conn *hub.Conn) error {
	s := &pageStore{conn: conn, bucket: conn.StreamName(hub.PagesName)}
	err := s.connect(ctx, p.Most, p.wait())
	if refusal := conn.LastError(); err != nil && errors.Is(refusal, nats.ErrPermissionViolation) { // NATS answers such a request with silence
		err = refusal
	}
	if err != nil {
		return fmt.Errorf("relay: the shared prompt cache: %w", err)
	}
	if p.Log != nil && s.most != p.Most {
		p.Log.Warn("the shared prompt cache was made with another limit, which counts", "bytes", s.most, "want", p.Most)
	}
	p.open.Store(s)
	return nil
}

// connect opens the stream of the object store. Unlike an object store that NATS' client makes, a
// full one does not refuse messages: the server drops old ones.
func (s *pageStore) connect(ctx context.Context, most int64, wait time.Duration) error {
	js, err := jetstream.New(s.conn.Conn, jetstream.WithDefaultTimeout(wait))
	if err != nil {
		return err
	}
	name := "OBJ_" + s.bucket
	s.stream, err = js.Stream(ctx, name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		s.stream, err = js.CreateStream(ctx, jetstream.StreamConfig{
			Name: name, Description: "pages of what language models have computed of texts",
			Subjects: []string{s.chunks(">"), s.note(">")},
			MaxBytes: most, Discard: jetstream.DiscardOld, AllowRollup: true, AllowDirect: true,
		})
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another worker was faster, with another limit
			s.stream, err = js.Stream(ctx, name)
		}
	}
	if err != nil {
		return err
	}
	s.most = s.stream.CachedInfo().Config.MaxBytes
	s.objects, err = js.ObjectStore(ctx, s.bucket)
	return err
}

// chunks returns the subject of the chunks of an object, and note the subject of the store's notes
// about it: the layout of NATS' object stores.
func (s *pageStore) chunks(id string) string    { return "$O." + s.bucket + ".C." + id }
func (s *pageStore) note(encoded string) string { return "$O." + s.bucket + ".M." + encoded }

func (s *pageStore) noteOf(k promptcache.Key) string {
	return s.note(base64.URLEncoding.EncodeToString([]byte(k.String())))
}

// An object is one that was read.
type object struct {
	id   string // of its chunks
	note uint64 // the message with what is noted of it
	data []byte // nil if chunks are missing
}

// wait returns how long an answer is waited for.
func (p *Pages) wait() time.Duration { return cmp.Or(p.patience, 5*time.Second) }

// ask has do use the store, if it can be asked now. After a failure it is not asked for a while, as
// what computes a text waits for its pages.
func (p *Pages) ask(ctx context.Context, do func(s *pageStore) error) error {
	s := p.open.Load()
	switch {
	case s == nil:
		return errNoStore
	case !s.conn.IsConnected():
		return nats.ErrDisconnected // at once, as requests would wait
	case time.Now().UnixNano() < p.rests.Load():
		return errRests
	}
	err := do(s)
	if err != nil && ctx.Err() == nil && !errors.Is(err, fs.ErrNotExist) && !errors.As(err, new(*kernel.Error)) {
		p.rests.Store(time.Now().Add(cmp.Or(p.rest, 10*time.Second)).UnixNano())
	}
	return err
}

// read returns an object. It asks for one chunk after the other: a subscription would wait for
// those that are gone. The error is an [fs.ErrNotExist] if nothing is noted of it.
func (s *pageStore) read(ctx context.Context, k promptcache.Key) (*object, error) {
	m, err := s.stream.GetLastMsgForSubject(ctx, s.noteOf(k))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, fs.ErrNotExist
	}
	if err != nil {
		return nil, err
	}
	var info jetstream.ObjectInfo
	if err := json.Unmarshal(m.Data, &info); err != nil || info.Deleted || !hub.IsToken(info.NUID) {
		return &object{note: m.Sequence}, nil
	}
	o := &object{id: info.NUID, note: m.Sequence, data: []byte{}}
	at := uint64(1)
	for range info.Chunks {
		m, err := s.stream.GetMsg(ctx, at, jetstream.WithGetMsgSubject(s.chunks(o.id)))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			o.data = nil
			return o, nil
		}
		if err != nil {
			return nil, err
		}
		if n := uint64(len(o.data) + len(m.Data)); n > info.Size || s.most > 0 && n > uint64(s.most) {
			o.data = nil // others wrote more than they noted, or than the store can have
			return o, nil
		}
		o.data, at = append(o.data, m.Data...), m.Sequence+1
	}
	return o, nil
}

// remove removes an object that was read, and not one that was put in its place since.
func (s *pageStore) remove(ctx context.Context, k promptcache.Key, o *object) error {
	err := s.stream.Purge(ctx, jetstream.WithPurgeSubject(s.noteOf(k)), jetstream.WithPurgeSequence(o.note+1))
	if err != nil || o.id == "" {
		return err
	}
	return s.stream.Purge(ctx, jetstream.WithPurgeSubject(s.chunks(o.id)))
}

// Get implements [promptcache.Backend].
func (p *Pages) Get(ctx context.Context, k promptcache.Key) (page []byte, err error) {
	err = p.ask(ctx, func(s *pageStore) error {
		ctx, cancel := context.WithTimeout(ctx, p.wait())
		defer cancel()
		o, err := s.read(ctx, k)
		if err != nil {
			return err
		}
		if o.data == nil {
			return errors.Join(fs.ErrNotExist, s.remove(ctx, k, o))
		}
		page = o.data
		return nil
	})
	return page, err
}

// Put implements [promptcache.Backend].
func (p *Pages) Put(ctx context.Context, k promptcache.Key, data []byte) error {
	return p.ask(ctx, func(s *pageStore) error { return s.put(ctx, k, data) })
}

// put puts an object, unless there is one.
func (s *pageStore) put(ctx context.Context, k promptcache.Key, data []byte) error {
	chunk := min(chunkBytes, int(s.conn.MaxPayload()))
	if n := int64(len(data) + (len(data)/chunk+1)*perChunk + perObject); s.most > 0 && n > s.most {
		return &kernel.Error{Where: "relay: a page", Got: fmt.Sprintf("%d bytes in the store", n), Want: fmt.Sprintf("at most %d, those of the store", s.most)}
	}
	if _, err := s.objects.GetInfo(ctx, k.String()); !errors.Is(err, jetstream.ErrObjectNotFound) {
		return err
	}
	_, err := s.objects.Put(ctx, jetstream.ObjectMeta{Name: k.String(), Opts: &jetstream.ObjectMetaOptions{ChunkSize: uint32(chunk)}}, bytes.NewReader(data))
	return err
}

// Remove implements [promptcache.Backend].
func (p *Pages) Remove(ctx context.Context, k promptcache.Key, data []byte) error {
	return p.ask(ctx, func(s *pageStore) error {
		o, err := s.read(ctx, k)
		if err != nil || o.data != nil && !bytes.Equal(o.data, data) {
			return err
		}
		return s.remove(ctx, k, o)
	})
}
