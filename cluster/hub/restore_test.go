package hub

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

// A directory that was made again of its copies has the entries that are written to it next, and no
// older ones, also if the server ends before it has written copies of them.
func TestChangesAfterRestore(t *testing.T) {
	const bucket = "attn_" + DirectoryName
	c := ServerConfig{Port: -1, StoreDir: filepath.Join(t.TempDir(), "store"), Log: slog.New(slog.DiscardHandler)}
	s := &Server{config: c, full: make(chan struct{}, 1)}
	options, err := s.options()
	if err != nil {
		t.Fatal(err)
	}
	defer s.store.close()
	var config []byte
	alone := func(do func(ctx context.Context, kv jetstream.KeyValue) error) {
		t.Helper()
		err := s.alone(options, func(ctx context.Context, js jetstream.JetStream) error {
			kv, err := js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: bucket})
			if err != nil {
				return err
			}
			stream, err := js.Stream(ctx, "KV_"+bucket)
			if err != nil {
				return err
			}
			if config, err = json.Marshal(stream.CachedInfo().Config); err != nil {
				return err
			}
			return do(ctx, kv)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	check := func() {
		t.Helper()
		if err := s.check(options); err != nil {
			t.Fatal(err)
		}
	}
	put := func(names ...string) func(ctx context.Context, kv jetstream.KeyValue) error {
		return func(ctx context.Context, kv jetstream.KeyValue) error {
			for _, name := range names {
				if _, err := kv.Put(ctx, name[:1], []byte(name)); err != nil {
					return err
				}
			}
			return nil
		}
	}
	alone(put("a1", "a2", "a3", "b1", "g1", "g2", "l1"))
	for name, x := range map[string]copied{"a": {30, []byte("a3")}, "b": {40, []byte("b1")}, "g": {60, nil}, configFile: {0, config}} {
		if err := writeCopy(filepath.Join(s.folder(bucket), name), x); err != nil {
			t.Fatal(err)
		}
	}
	damaged := []byte("damaged")
	for _, name := range []string{filepath.Join(s.folder(bucket), "l"), filepath.Join(c.StoreDir, "jetstream", "$G", "streams", "KV_"+bucket, "meta.sum")} {
		if err := os.WriteFile(name, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	check()
	if keys := copiedKeys(s.folder(bucket)); !slices.Equal(keys, []string{"a", "b"}) {
		t.Errorf("copies of %q, want those of a and b", keys)
	}
	if aside, _ := filepath.Glob(filepath.Join(c.StoreDir, "damaged-*-l")); len(aside) != 1 {
		t.Errorf("the damaged copy is not set aside: %q", aside)
	}
	alone(put("a4", "g3"))
	check()
	alone(func(ctx context.Context, kv jetstream.KeyValue) error {
		for _, want := range []string{"a4", "b1", "g3"} {
			if e, err := kv.Get(ctx, want[:1]); err != nil || string(e.Value()) != want {
				t.Errorf("%s: %v, %v", want, e, err)
			}
		}
		if _, err := kv.Get(ctx, "l"); err == nil {
			t.Error("an entry that is lost is there")
		}
		return nil
	})
}
