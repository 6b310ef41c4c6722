//go:build unix

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/shard"
	"github.com/attn-go/attn/kernel"
)

// storedSequences is how many sequences the store of a server has that is damaged.
const storedSequences = 6

// newStore returns a store with sequences, of which one was freed, of a server that end has ended.
func newStore(t *testing.T, end func(server *process)) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "store")
	p := startProcesses(t)
	p.server.kill()
	p.serve("-1", "-store", dir)
	p.work("a", p.url)
	conn, err := hub.Connect(t.Context(), hub.Config{URL: p.url, Wait: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	client, err := newClient(t.Context(), conn, shard.Config{Heads: 1, HeadSize: 2, Timeout: callTimeout}, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range storedSequences + 1 {
		s, err := client.Create(t.Context(), fmt.Sprint("s", i))
		if err != nil {
			t.Fatal(err)
		}
		rows := kernel.BHLD(make([]float32, 600*2), 1, 1, 600, 2)
		if err := client.Append(t.Context(), []*shard.Sequence{s}, rows, rows); err != nil {
			t.Fatal(err)
		}
		if i == storedSequences {
			if err := s.Free(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	copies := filepath.Join(dir, "copies", "attn_sequences")
	for { // the copies are written a moment after the directory
		files, _ := os.ReadDir(copies)
		last, _ := os.ReadFile(filepath.Join(copies, "s5"))
		if len(files) == storedSequences+2 && len(last) > 100 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	p.workers["a"].kill()
	end(p.server)
	return dir
}

// storeFiles returns the files of a store that have bytes.
func storeFiles(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil && info.Size() > 0 && filepath.Ext(name) != ".lock" {
				files = append(files, strings.TrimPrefix(name, dir))
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// afterDamage starts a server on a copy of a store that change has damaged, and returns what
// sequences lists and the server's log.
func afterDamage(t *testing.T, dir string, change func(dir string)) (listed, log string) {
	t.Helper()
	damaged := filepath.Join(t.TempDir(), "damaged")
	if err := os.CopyFS(damaged, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	change(damaged)
	server, line := startProcess(t, "", "serve", "-port", "-1", "-store", damaged)
	defer server.kill()
	for more := true; more; line, more = <-server.lines {
		log += line + "\n"
		if _, url, listening := strings.Cut(line, "listening on "); listening {
			for try := 1; ; try++ { // a busy machine may need longer than sequences waits
				out, report, err := runCommand(t.Context(), "sequences", "-server", url)
				if try < 5 && strings.Contains(fmt.Sprint(err, report, out), "deadline exceeded") { // also of an entry
					continue
				}
				if err != nil {
					t.Errorf("try %d: %v\n%s%s%s", try, err, out, report, log)
				}
				return out, log
			}
		}
	}
	t.Errorf("the server has ended: %s", log)
	return "", log
}

// One flipped bit in any file of the store of a server that was killed, or has ended: all sequences
// are there afterwards, and no other one. The freed one stays away.
func TestFlippedBits(t *testing.T) {
	t.Parallel()
	t.Run("killed", func(t *testing.T) { flipBits(t, newStore(t, (*process).kill), rand.New(rand.NewPCG(57, 2))) })
	t.Run("ended", func(t *testing.T) {
		flipBits(t, newStore(t, func(p *process) { p.interrupt(t) }), rand.New(rand.NewPCG(57, 3)))
	})
}

// flipBits flips bits of files of a store, one at a time: more of those that have the entries.
func flipBits(t *testing.T, dir string, random *rand.Rand) {
	files := storeFiles(t, dir)
	flips := map[string]int{}
	for _, name := range files {
		flips[name] = 2
		if filepath.Ext(name) == ".blk" {
			flips[name] = 12
		}
		if testing.Short() {
			flips[name] = (flips[name] + 3) / 4
		}
	}
	if len(files) < storedSequences+5 {
		t.Fatalf("files %q", files)
	}
	tried, restored := 0, 0
	for _, name := range files {
		for range flips[name] {
			what := ""
			listed, log := afterDamage(t, dir, func(dir string) {
				data, err := os.ReadFile(filepath.Join(dir, name))
				if err != nil {
					t.Fatal(err)
				}
				at, bit := random.IntN(len(data)), random.IntN(8)
				data[at] ^= 1 << bit
				what = fmt.Sprintf("%s, byte %d, bit %d", name, at, bit)
				if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
					t.Fatal(err)
				}
			})
			if got := strings.Count(listed, ": 600 keys in "); got != storedSequences || strings.Contains(listed, "s6") {
				t.Errorf("%s: %d sequences\n%s%s", what, got, listed, log)
			}
			tried++
			if strings.Contains(log, "made again of its copies") {
				restored++
				if !strings.Contains(log, "LOST=[]") {
					t.Errorf("%s: %s", what, log)
				}
			}
		}
	}
	t.Logf("%d of %d flips were repaired of copies", restored, tried)
	if restored == 0 {
		t.Error("no flip did harm")
	}
}

// What neither JetStream nor its copy has is named as lost, and the rest is there.
func TestLostEntry(t *testing.T) {
	t.Parallel()
	dir := newStore(t, (*process).kill)
	listed, log := afterDamage(t, dir, func(dir string) {
		for _, name := range []string{"jetstream/$G/streams/KV_attn_sequences/meta.sum", "copies/attn_sequences/s3"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("damaged"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	})
	if strings.Count(listed, ": 600 keys in ") != storedSequences-1 || strings.Contains(listed, "s3") || !strings.Contains(log, "LOST=[s3]") {
		t.Errorf("%s%s", listed, log)
	}
}

// Without the files of JetStream, which an operator moves away if NATS hangs on them, all is made
// again of the copies.
func TestWithoutJetStream(t *testing.T) {
	t.Parallel()
	dir := newStore(t, (*process).kill)
	listed, log := afterDamage(t, dir, func(dir string) {
		if err := os.Rename(filepath.Join(dir, "jetstream"), filepath.Join(t.TempDir(), "away")); err != nil {
			t.Fatal(err)
		}
	})
	if strings.Count(listed, ": 600 keys in ") != storedSequences || !strings.Contains(log, "LOST=[]") {
		t.Errorf("%s%s", listed, log)
	}
}

// Of three servers one is killed, a bit of its files is flipped, and it starts again: all sequences
// are there, whichever server is asked, and their writer goes on.
func TestFlippedBitsOfThree(t *testing.T) {
	long(t)
	t.Parallel()
	ports, secret := freePorts(6), filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("between servers\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	stores, servers, urls := [3]string{t.TempDir(), t.TempDir(), t.TempDir()}, [3]*process{}, []string{}
	begin := func(n int) {
		args := []string{"serve", "-cluster", "attn", "-name", fmt.Sprint("n", n), "-port", ports[n], "-cluster-port", ports[3+n], "-store", stores[n], "-route-password-file", secret}
		for _, port := range ports[3:] {
			args = append(args, "-route", "nats://127.0.0.1:"+port)
		}
		servers[n], _ = startProcess(t, "listening on", args...)
	}
	for n := range 3 {
		begin(n)
		urls = append(urls, "nats://127.0.0.1:"+ports[n])
	}
	all := strings.Join(urls, ",")
	startProcess(t, "waits for", "work", "-name", "a", "-server", all)
	conn, err := hub.Connect(t.Context(), hub.Config{URL: all, Wait: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	client, err := newClient(t.Context(), conn, shard.Config{Heads: 1, HeadSize: 2, Timeout: 5 * time.Second}, 1)
	if err != nil {
		t.Fatal(err)
	}
	again := func(what string, do func() error) { // while the servers choose a leader there is none
		t.Helper()
		for err := do(); err != nil; err = do() {
			t.Logf("%s: %v", what, err)
			time.Sleep(200 * time.Millisecond)
		}
	}
	var sequences []*shard.Sequence
	keys := 600
	rows := func(n int) kernel.Tensor { return kernel.BHLD(make([]float32, n*2), 1, 1, n, 2) }
	for i := range storedSequences {
		again("create", func() error {
			s, err := client.Create(t.Context(), fmt.Sprint("s", i))
			if errors.Is(err, shard.ErrExists) {
				s, err = client.Open(t.Context(), fmt.Sprint("s", i))
			}
			if err == nil {
				sequences = append(sequences, s)
			}
			return err
		})
		again("append", func() error {
			return client.Append(t.Context(), sequences[i:], rows(keys-sequences[i].Len()), rows(keys-sequences[i].Len()))
		})
	}
	bad := filepath.Join(stores[2], "jetstream/$SYS/_js_/_meta_/snapshots/snap.9999.9999")
	if err := errors.Join(os.MkdirAll(filepath.Dir(bad), 0o700), os.WriteFile(bad, []byte("damaged"), 0o600)); err != nil {
		t.Fatal(err)
	}
	servers[2].kill()
	begin(2) // it has nothing then but what the others give
	if aside, err := filepath.Glob(filepath.Join(stores[2], "damaged-*-jetstream")); err != nil || len(aside) != 1 {
		t.Errorf("set aside: %q, %v", aside, err)
	}
	random := rand.New(rand.NewPCG(57, 4))
	for try := range 6 {
		n := try % 3
		servers[n].kill()
		files := storeFiles(t, stores[n])
		name := files[random.IntN(len(files))]
		entries := func(name string) bool {
			return strings.Contains(name, "KV_attn_sequences/msgs") && strings.HasSuffix(name, ".blk")
		}
		if at := slices.IndexFunc(files, entries); at >= 0 && try%2 == 0 {
			name = files[at]
		}
		data, err := os.ReadFile(filepath.Join(stores[n], name))
		if err != nil {
			t.Fatal(err)
		}
		at := random.IntN(len(data))
		data[at] ^= 1 << random.IntN(8)
		if err := os.WriteFile(filepath.Join(stores[n], name), data, 0o600); err != nil {
			t.Fatal(err)
		}
		begin(n)
		what := fmt.Sprintf("server %d, %s, byte %d", n, name, at)
		for _, url := range urls {
			for range 2 { // any of them may give an entry
				listed, tries := "", 0
				again(what, func() (err error) {
					listed, _, err = runCommand(t.Context(), "sequences", "-server", url)
					if tries++; err == nil && tries < 5 && strings.Contains(listed, "deadline exceeded") {
						err = errors.New(listed) // of an entry
					}
					return err
				})
				if got := strings.Count(listed, fmt.Sprintf(": %d keys in ", keys)); got != storedSequences {
					t.Errorf("%s: asked %s, %d sequences of %d keys\n%s", what, url, got, keys, listed)
				}
			}
		}
		keys++
		for i := range sequences {
			again(what+", append", func() error {
				return client.Append(t.Context(), sequences[i:i+1], rows(keys-sequences[i].Len()), rows(keys-sequences[i].Len()))
			})
		}
		t.Log(what)
	}
}
