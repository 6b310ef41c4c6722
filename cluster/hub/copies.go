package hub

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A server alone keeps a second copy of what directories have, as a flipped bit in JetStream's
// files makes it lose entries, whole buckets, or hang: a folder for each bucket, and in it a file
// for each entry and one for the settings of its stream, each with its revision and CRC-32C. An
// entry that was removed has a file without bytes for a while. See [Server.check] for what they are
// good for.

// DirectoryName ends the names of buckets that are copied, see [StreamName].
const DirectoryName = "sequences"

const (
	copiesFolder = "copies"
	configFile   = ".config" // no key begins with a dot
)

// isDirectory tells whether a bucket is copied.
func isDirectory(bucket string) bool { return strings.HasSuffix(bucket, "_"+DirectoryName) }

// A copied is what a file has.
type copied struct {
	revision uint64 // in the stream
	data     []byte // none if the entry was removed
}

// writeCopy replaces a file.
func writeCopy(name string, c copied) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
		return err
	}
	b := append(binary.LittleEndian.AppendUint64(make([]byte, 4), c.revision), c.data...)
	binary.LittleEndian.PutUint32(b, crc32.Checksum(b[4:], castagnoli))
	if err := os.WriteFile(name+"~", b, 0o640); err != nil { // no key has ~
		return err
	}
	return os.Rename(name+"~", name)
}

// readCopy reads a file. The error is ErrDamaged if it is not as it was written.
func readCopy(name string) (copied, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return copied{}, err
	}
	if len(b) < 12 || binary.LittleEndian.Uint32(b) != crc32.Checksum(b[4:], castagnoli) {
		return copied{}, ErrDamaged
	}
	return copied{binary.LittleEndian.Uint64(b[4:]), b[12:]}, nil
}

// removedTime is how long a copy says that an entry was removed. Damage may bring back what
// JetStream's files have of it.
const removedTime = time.Hour

// copy writes an entry, or that it was removed.
func (s *Server) copy(bucket string, e jetstream.KeyValueEntry) error {
	name := filepath.Join(s.folder(bucket), e.Key())
	c := copied{e.Revision(), e.Value()}
	if e.Operation() != jetstream.KeyValuePut {
		c.data = nil
		time.AfterFunc(removedTime, func() {
			s.copies.Lock()
			defer s.copies.Unlock()
			if now, err := readCopy(name); err == nil && now.revision == c.revision {
				os.Remove(name)
			}
		})
	}
	s.copies.Lock()
	defer s.copies.Unlock()
	return writeCopy(name, c)
}

// copiedKeys returns the keys of the copies in a folder.
func copiedKeys(folder string) (keys []string) {
	files, _ := os.ReadDir(folder) // none if there is no folder
	for _, f := range files {
		if name := f.Name(); name != configFile && !strings.HasSuffix(name, "~") {
			keys = append(keys, name)
		}
	}
	return keys
}

// keepsCopies tells whether the server keeps copies: a temporary folder ends with it, and of three
// servers two have the entries.
func (c *ServerConfig) keepsCopies() bool { return c.StoreDir != "" && c.Cluster == "" }

// folder returns the folder of the copies of a bucket.
func (s *Server) folder(bucket string) string {
	return filepath.Join(s.config.StoreDir, copiesFolder, bucket)
}

// ownUser is the user of the server's own connection, if others have users.
func (s *Server) ownUser(o *server.Options) {
	if len(o.Users)+len(o.Nkeys) > 0 {
		s.own = nats.UserInfo("attn-server", rand.Text())
		var x nats.Options
		s.own(&x) // sets two fields and has no error
		o.Users = append(slices.Clone(o.Users), &server.User{Username: x.User, Password: x.Password})
	}
}

// connect returns a connection of the server to itself.
func (s *Server) connect(running *server.Server) (*nats.Conn, jetstream.JetStream, error) {
	options := []nats.Option{nats.InProcessServer(running), nats.MaxReconnects(0), nats.Name("attn server"),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { // NATS would print it
			if running.Running() {
				s.config.Log.Warn("nats: the server's own connection", "error", err)
			}
		})}
	if s.own != nil {
		options = append(options, s.own)
	}
	nc, err := nats.Connect("", options...)
	if err != nil {
		return nil, nil, err
	}
	js, err := jetstream.New(nc)
	if err != nil {
		nc.Close()
	}
	return nc, js, err
}

// keepCopies writes what directories have until the server that runs now ends. It also looks
// whether JetStream answers.
func (s *Server) keepCopies(running *server.Server) {
	nc, js, err := s.connect(running)
	if err != nil {
		if running.Running() { // otherwise the server has ended already
			s.config.Log.Error("no copies of the directory are kept", "error", err)
		}
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	var mu sync.Mutex
	known := map[string]bool{}
	follow := func(bucket string) {
		mu.Lock()
		defer mu.Unlock()
		if !known[bucket] && ctx.Err() == nil {
			known[bucket] = true
			watching.Go(func() {
				if err := s.follow(ctx, js, bucket); err != nil && ctx.Err() == nil {
					s.config.Log.Error("no copies are kept of a directory", "bucket", bucket, "error", err)
				}
				mu.Lock()
				defer mu.Unlock()
				delete(known, bucket)
			})
		}
	}
	nc.Subscribe("$KV.*.>", func(m *nats.Msg) { // the first entry of a new one
		if bucket := strings.Split(m.Subject, ".")[1]; isDirectory(bucket) {
			follow(bucket)
		}
	})
	names := js.KeyValueStoreNames(ctx)
	for bucket := range names.Name() {
		if isDirectory(bucket) {
			follow(bucket)
		}
	}
	if err := names.Error(); err != nil && running.Running() {
		s.config.Log.Error("directories that do not change have no copies", "error", err)
	}
	watching.Go(func() { s.watchJetStream(ctx, js) })
	running.WaitForShutdown()
	mu.Lock()
	cancel() // no bucket is followed from now on
	mu.Unlock()
	nc.Close()
	watching.Wait()
}

// follow writes the entries of a bucket, and each change.
func (s *Server) follow(ctx context.Context, js jetstream.JetStream, bucket string) error {
	stream, err := js.Stream(ctx, "KV_"+bucket)
	if err != nil {
		return err
	}
	config, err := json.Marshal(stream.CachedInfo().Config)
	if err == nil {
		err = writeCopy(filepath.Join(s.folder(bucket), configFile), copied{data: config})
	}
	if err != nil {
		return err
	}
	kv, err := js.KeyValue(ctx, bucket)
	if err != nil {
		return err
	}
	w, err := kv.WatchAll(ctx)
	if err != nil {
		return err
	}
	defer w.Stop() // the next entry begins another one if this one fails
	for {
		select {
		case e, more := <-w.Updates():
			if !more {
				return nil
			}
			if e == nil || !IsToken(e.Key()) { // nil ends those that were there
				continue
			}
			if err := s.copy(bucket, e); err != nil {
				return err
			}
		case <-ctx.Done(): // NATS may not close the channel of a watch that has just begun
			if len(w.Updates()) == 0 {
				return nil
			}
		}
	}
}

// ErrStuck is the error of [Serve] and [Server.Err] if JetStream no longer answers. Serve sets bad
// files aside, at the latest at the next start. End the process and start another: NATS may go on
// using a CPU.
var ErrStuck = errors.New("hub: JetStream does not answer")

// Limits of JetStream.
const (
	probeEvery = 5 * time.Second
	probeTime  = 5 * time.Second
	probes     = 3 // without an answer, after which it is stuck
)

// watchJetStream ends the server if JetStream does not answer.
func (s *Server) watchJetStream(ctx context.Context, js jetstream.JetStream) {
	for silent := 0; Pause(ctx, probeEvery) == nil; {
		probe, cancel := context.WithTimeout(ctx, probeTime)
		_, err := js.AccountInfo(probe)
		cancel()
		if errors.Is(err, context.DeadlineExceeded) {
			silent++
			s.config.Log.Error("JetStream does not answer", "times", silent, "of", probes)
		} else {
			silent = 0
		}
		if silent == probes {
			s.hang()
			return
		}
	}
}

// hang ends the server with ErrStuck, and does not wait for NATS.
func (s *Server) hang() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = ErrStuck
		close(s.stuck)
	}
}

// fail notes why the server ends by itself, if it has no other reason.
func (s *Server) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = cmp.Or(s.err, err)
}

// Err returns why the server ended by itself, once [Server.Done] is closed, or nil.
func (s *Server) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}
