//go:build unix

package main

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
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
	conn, err := hub.Connect(t.Context(), hub.Config{URL: p.url})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	client, err := shard.New(t.Context(), conn, shard.Config{Heads: 1, HeadSize: 2})
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

// afterDamage starts a server on a copy of a store that change has damaged, and returns what sequences lists and the server's log.
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
			out, report, err := runCommand(t.Context(), "sequences", "-server", url)
			if err != nil {
				t.Errorf("%v\n%s%s", err, out, report)
			}
			return out, log
		}
	}
	t.Errorf("the server has ended: %s", log)
	return "", log
}

// One flipped bit in any file of the store of a server that was killed, or has ended: all sequences are there afterwards, and no other
// one. The freed one stays away.
func TestFlippedBits(t *testing.T) {
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
