//go:build unix

package torture

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// A fault disturbs a cluster while a client works.
type fault struct {
	name    string
	work    *work
	disturb func(x *stage, client *process) error
}

// faults are all faults.
var faults = []fault{
	{"kill -9 of a worker", embedding, killWorker},
	{"kill -9 of a worker", attention, killWorker},
	{"SIGSTOP of a worker for 1.5 s", embedding, stopWorker},
	{"SIGSTOP of a worker for 1.5 s", attention, stopWorker},
	{"kill -9 of the server", embedding, killServer},
	{"kill -9 of the server", attention, killServer},
	{"kill -9 of the client", embedding, killClient},
	{"kill -9 of the client", attention, killClient},
	{"SIGSTOP of the client for 1.5 s", embedding, stopClient},
	{"SIGSTOP of the client for 1.5 s", attention, stopClient},
	{"the network of a worker is cut for 1.5 s", embedding, cut},
	{"the network of a worker is cut for 1.5 s", attention, cut},
	{"the network of a worker flips up to 20 bits", embedding, flip},
	{"the network of a worker flips up to 20 bits", attention, flip},
	{"kill -9 of the client, and a bit of its journal is flipped", embedding, damageJournal},
	{"kill -9 of the server, and a bit of each file of its streams is flipped", embedding, damageStore},
}

// longer is longer than the patience of clients.
const longer = 1500 * time.Millisecond

func killWorker(x *stage, _ *process) error {
	for _, w := range x.machine() {
		w.kill()
	}
	return x.revive()
}

func stopWorker(x *stage, _ *process) error {
	return stop(x.machine()...)
}

func stopClient(_ *stage, client *process) error { return stop(client) }

// stop has processes stand still for a while.
func stop(all ...*process) error {
	for _, p := range all {
		p.signal(syscall.SIGSTOP)
	}
	time.Sleep(longer)
	for _, p := range all {
		p.signal(syscall.SIGCONT)
	}
	return nil
}

func killServer(x *stage, _ *process) error {
	x.server.kill()
	return x.serve()
}

func killClient(_ *stage, client *process) error {
	client.kill()
	return nil
}

func cut(x *stage, _ *process) error {
	x.far.cut.Lock()
	time.Sleep(longer)
	x.far.cut.Unlock()
	return nil
}

func flip(x *stage, _ *process) error {
	x.far.flips.Store(flips)
	return nil
}

func damageJournal(x *stage, client *process) error {
	for !client.ended() { // until there is something to damage
		if info, err := os.Stat(x.journal()); err == nil && info.Size() > 1<<14 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	client.kill()
	x.hit = false
	return x.damage(x.journal())
}

func damageStore(x *stage, _ *process) error {
	x.server.kill()
	x.hit = false
	err := filepath.WalkDir(x.store(), func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && filepath.Ext(name) == ".blk" {
			err = x.damage(name)
		}
		return err
	})
	if err != nil {
		return err
	}
	return x.serve()
}

// damage flips a bit of a file, if it has any.
func (x *stage) damage(name string) error {
	data, err := os.ReadFile(name)
	if os.IsNotExist(err) || err == nil && len(data) == 0 {
		return nil // the client was done, or had not begun
	}
	if err != nil {
		return err
	}
	x.hit = true
	data[x.random.IntN(len(data))] ^= 1 << x.random.IntN(8)
	if err := os.WriteFile(name, data, 0o600); err != nil {
		return fmt.Errorf("damaging %s: %w", name, err)
	}
	return nil
}
