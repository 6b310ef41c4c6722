package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
)

// Limits of the check at the start.
const (
	checkTime  = time.Minute     // for all of JetStream to open its files, and to give its entries
	bucketTime = 5 * time.Second // to say what a bucket has
	entryTime  = 2 * time.Second // for the first entry that it does not give
)

// check opens the streams in a server that nobody reaches, and compares what directories have with
// their copies. What JetStream lacks or cannot read is taken from them, in a new bucket; the old
// one is set aside. What neither has is named in the log. The later revision counts: copies may be
// some milliseconds older, and a damaged stream may have an earlier entry. A JetStream that hangs
// is set aside as a whole.
func (s *Server) check(options *server.Options) error {
	buckets, _ := os.ReadDir(filepath.Join(s.config.StoreDir, copiesFolder)) // none before the first start
	if len(buckets) == 0 {
		return nil
	}
	var rebuild []*directory
	err := s.alone(options, func(ctx context.Context, js jetstream.JetStream) error {
		for _, b := range buckets {
			d := s.compare(ctx, js, b.Name())
			if d.damaged {
				rebuild = append(rebuild, d)
			}
			if d.hung {
				return ErrStuck
			}
		}
		return nil
	})
	hung := errors.Is(err, ErrStuck) && len(rebuild) > 0
	if err != nil && !hung {
		aside, moveErr := s.setAside("jetstream")
		s.config.Log.Error("JetStream cannot open its files; they are set aside, and the directory is made again of its copies", "folder", aside, "error", err)
		return errors.Join(ErrStuck, moveErr)
	}
	for _, d := range rebuild {
		aside, err := s.setAside(filepath.Join("jetstream", "$G", "streams", "KV_"+d.bucket))
		if err != nil {
			return err
		}
		s.config.Log.Error("the files of a directory are damaged; they are set aside, and it is made again of its copies", "bucket", d.bucket, "folder", aside,
			"restored", d.restored, "LOST", d.lost, "freed or lost", d.unknown)
	}
	if hung || len(rebuild) == 0 {
		return err // NATS that hangs may go on to take time of a CPU; the next start finds no bucket, and makes it
	}
	return s.alone(options, func(ctx context.Context, js jetstream.JetStream) error {
		for _, d := range rebuild {
			if err := s.make(ctx, js, d); err != nil {
				return fmt.Errorf("hub: the directory %s could not be made again of its copies: %w", d.bucket, err)
			}
		}
		return nil
	})
}

// alone has do use a server that does not listen. The error comes from do, or is ErrStuck.
func (s *Server) alone(options *server.Options, do func(ctx context.Context, js jetstream.JetStream) error) error {
	o := options.Clone()
	o.DontListen, o.Users, o.Nkeys, o.TLSConfig, o.TLS, o.TLSVerify = true, nil, nil, nil, false, false
	done := make(chan error, 1)
	go func() { // which hangs if NATS does
		running, err := server.NewServer(o)
		if err == nil {
			running.SetLogger(s.newLog(), false, false)
			running.Start()
			if err = s.use(running, do); !errors.Is(err, ErrStuck) {
				running.Shutdown()
				running.WaitForShutdown()
			}
		}
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-time.After(checkTime):
		return ErrStuck
	}
}

// use has do use a server.
func (s *Server) use(running *server.Server, do func(ctx context.Context, js jetstream.JetStream) error) error {
	nc, js, err := s.connect(running)
	if err != nil {
		return err
	}
	defer nc.Close()
	ctx, cancel := context.WithTimeout(context.Background(), checkTime/2)
	defer cancel()
	return do(ctx, js)
}

// A directory is what a bucket has, of JetStream or of copies.
type directory struct {
	bucket         string
	config         []byte // of its stream
	entries        map[string][]byte
	damaged, hung  bool     // JetStream lacks some of it, or says nothing of it
	restored, lost []string // keys that JetStream does not give
	unknown        []string // keys without a copy, ever or any more
}

// compare finds out what JetStream and the copies have of a bucket.
func (s *Server) compare(ctx context.Context, js jetstream.JetStream, bucket string) *directory {
	d := &directory{bucket: bucket, entries: map[string][]byte{}}
	folder := s.folder(bucket)
	config, _ := readCopy(filepath.Join(folder, configFile)) // see known
	d.config = config.data
	keys := map[string]bool{} // whether JetStream knows them
	for _, key := range copiedKeys(folder) {
		keys[key] = false
	}
	one, cancel := context.WithTimeout(ctx, bucketTime)
	err := d.known(one, js, keys)
	cancel()
	d.damaged, d.hung = err != nil, errors.Is(err, context.DeadlineExceeded)
	wait := entryTime
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		var stored copied
		readErr := err
		if err == nil && keys[key] {
			one, cancel := context.WithTimeout(ctx, wait)
			stored, readErr = d.read(one, js, key)
			cancel()
		}
		if readErr != nil {
			d.damaged, wait = true, entryTime/10
		}
		d.choose(key, stored, readErr, filepath.Join(folder, key))
	}
	return d
}

// choose takes the later value of a key, from JetStream or the copies.
func (d *directory) choose(key string, stored copied, readErr error, file string) {
	second, err := readCopy(file)
	gone := stored.revision == 0 // JetStream has nothing, or cannot read it
	switch {
	case !gone && (err != nil || second.revision <= stored.revision):
		if len(stored.data) > 0 {
			d.entries[key] = stored.data
		}
	case err == nil && len(second.data) > 0:
		d.damaged = true
		d.entries[key], d.restored = second.data, append(d.restored, key)
	case err == nil: // removed
		d.damaged = d.damaged || !gone
		if readErr == nil && gone {
			os.Remove(file)
		}
	case errors.Is(err, os.ErrNotExist):
		d.unknown = append(d.unknown, key)
	default:
		d.damaged, d.lost = true, append(d.lost, key)
	}
}

// read returns what JetStream has of a key: an entry, or that it was removed.
func (d *directory) read(ctx context.Context, js jetstream.JetStream, key string) (copied, error) {
	stream, err := js.Stream(ctx, "KV_"+d.bucket)
	if err != nil {
		return copied{}, err
	}
	m, err := stream.GetLastMsgForSubject(ctx, "$KV."+d.bucket+"."+key)
	if err != nil {
		return copied{}, err
	}
	return copied{m.Sequence, m.Data}, nil
}

// known adds the keys that JetStream knows. It asks for no messages, as one that cannot be read
// would end them.
func (d *directory) known(ctx context.Context, js jetstream.JetStream, keys map[string]bool) error {
	stream, err := js.Stream(ctx, "KV_"+d.bucket)
	if err != nil {
		return err
	}
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(">"))
	if err != nil {
		return err
	}
	for subject := range info.State.Subjects {
		keys[strings.TrimPrefix(subject, "$KV."+d.bucket+".")] = true
	}
	if d.config == nil {
		d.config, err = json.Marshal(info.Config)
	}
	return err
}

// make makes the bucket, and the copies of its entries. The revisions of a new stream begin again,
// so that an old copy would look later than what is written from now on: none of them stays. One
// that is damaged is set aside.
func (s *Server) make(ctx context.Context, js jetstream.JetStream, d *directory) error {
	var config jetstream.StreamConfig
	if err := json.Unmarshal(d.config, &config); err != nil {
		return fmt.Errorf("its settings: %w", err)
	}
	if _, err := js.CreateStream(ctx, config); err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(d.entries)) {
		ack, err := js.Publish(ctx, "$KV."+d.bucket+"."+key, d.entries[key])
		if err == nil {
			err = writeCopy(filepath.Join(s.folder(d.bucket), key), copied{ack.Sequence, d.entries[key]})
		}
		if err != nil {
			return err
		}
	}
	for _, key := range copiedKeys(s.folder(d.bucket)) {
		name, err := filepath.Join(copiesFolder, d.bucket, key), error(nil)
		if slices.Contains(d.lost, key) {
			_, err = s.setAside(name)
		} else if d.entries[key] == nil {
			err = os.Remove(filepath.Join(s.config.StoreDir, name))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// setAside gives a file or folder of the store a name that nothing else has, and returns it.
func (s *Server) setAside(name string) (string, error) {
	from := filepath.Join(s.config.StoreDir, name)
	to := filepath.Join(s.config.StoreDir, fmt.Sprintf("damaged-%s-%s", time.Now().UTC().Format("20060102T150405.000000000"), filepath.Base(name)))
	err := os.Rename(from, to)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	return to, err
}
