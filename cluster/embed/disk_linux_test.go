package embed

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// smallDisk mounts a disk of so many bytes in memory. Where that is not allowed, the test is
// not run.
func smallDisk(t *testing.T, bytes int) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("attn-test", dir, "tmpfs", 0, fmt.Sprintf("size=%d", bytes)); err != nil {
		t.Skipf("NOT RUN: no disk of its own, which takes the right to mount: %v. TestFull has streams with quotas instead", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill writes a file that leaves so many bytes of a disk, and returns its name.
func fill(t *testing.T, dir string, leave uint64) string {
	t.Helper()
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		t.Error(err)
	}
	free := s.Bfree * uint64(s.Bsize)
	name := filepath.Join(dir, "ballast")
	if err := os.WriteFile(name, make([]byte, free-min(free, leave)), 0o666); err != nil && !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
	return name
}

// TestDisk has a server whose disk is full for some time. A client whose patience ends says so
// by a typed error. When there is room again, it goes on, and nothing is lost.
func TestDisk(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT RUN with -short: it takes seconds")
	}
	t.Parallel()
	for run := range *runs {
		disk := smallDisk(t, 8<<20)
		server := role{Kind: "server", Port: freePort(t), Store: disk}
		start(t, server)
		b := newCorpus(t, fmt.Sprintf("nats://127.0.0.1:%d", server.Port), 800)
		start(t, b.role())
		start(t, b.role())
		o := b.options()
		o.Patience = 3 * time.Second
		var ballast string
		c := Client{Conn: b.connect(t), Options: o, Report: func(s string) { t.Log(s) }}
		c.Progress = func(p Progress) {
			if p.Texts > 100 && ballast == "" { // in the middle of the run
				ballast = fill(t, disk, uint64(4<<10*(run%4)))
			}
		}
		summary, err := c.Run(t.Context())
		t.Logf("run %d: full: %d texts, %v", run, summary.Texts, err)
		if stalled := (*StalledError)(nil); !errors.As(err, &stalled) || ballast == "" || summary.Texts >= 800 {
			t.Errorf("%+v, %v: want a *StalledError", summary, err)
		}
		time.AfterFunc(time.Second, func() { os.Remove(ballast) })
		c.Options.Patience = time.Minute
		summary, err = c.Run(t.Context())
		t.Logf("run %d: room: %d texts, %d of them from before, %v", run, summary.Texts, summary.Resumed, err)
		if err != nil || summary.Texts != 800 || summary.Rejected != 25 || summary.Resumed == 0 {
			t.Fatalf("%+v, %v", summary, err)
		}
		b.check(t)
	}
}
