//go:build unix && !linux

package main

import "testing"

// smallDisk returns "": there is no disk of its own.
func smallDisk(t *testing.T, _ int) string {
	t.Log("NOT RUN: a full disk, which takes Linux")
	return ""
}
