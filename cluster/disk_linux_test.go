package main

import (
	"fmt"
	"syscall"
	"testing"
)

// smallDisk mounts a disk of so many bytes in memory, and returns "" where that is not allowed.
func smallDisk(t *testing.T, bytes int) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("attn-test", dir, "tmpfs", 0, fmt.Sprintf("size=%d", bytes)); err != nil {
		t.Logf("NOT RUN: a full disk, as this user may not mount one: %v", err)
		return ""
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}
