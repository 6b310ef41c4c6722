//go:build unix

package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

// Workers are killed one after the other, until none of the first ones is left, while a client appends
// and compares what it reads. Nobody repairs anything but the workers themselves. Another worker
// is killed only when all copies are there again: how long that takes is not for the test to say.
func TestKillWorkersAgainAndAgain(t *testing.T) {
	long(t)
	p := startProcesses(t)
	work := func(name string) {
		p.workers[name], _ = startProcess(t, "waits for", "work", "-name", name, "-server", p.url, "-repair", "1s")
	}
	for i := range 4 {
		work(fmt.Sprintf("w%d", i))
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		out, report, err := runCommand(ctx, "attend", "-server", p.url, "-name", "text", "-keys", "1500", "-tokens", "3000", "-patience", "200ms")
		if err != nil && ctx.Err() == nil {
			err = fmt.Errorf("%w\n%s%s", err, out, report)
		}
		ended <- err
	}()
	complete := func(dead string) {
		for {
			select {
			case err := <-ended:
				ended <- err
				if err != nil {
					t.Fatal(err)
				}
			default:
			}
			out, report, err := runCommand(t.Context(), "sequences", "-server", p.url)
			if err != nil {
				t.Fatalf("%v\n%s", err, report)
			}
			if strings.Contains(out, "on 2 of 2 workers") && !holds(out, dead) {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	complete("")
	for i := range 4 {
		dead := fmt.Sprintf("w%d", i)
		p.workers[dead].kill()
		work(fmt.Sprintf("w%d", i+4))
		complete(dead)
	}
	cancel()
	if err := <-ended; err != nil && t.Context().Err() == nil && !strings.Contains(err.Error(), "canceled") {
		t.Error(err)
	}
	p.attendNamed(3)
}

// A worker that is interrupted hands over what it holds, so that nothing is lost although each block has one
// holder only.
func TestLeave(t *testing.T) {
	p := startProcesses(t, "a", "b")
	attend := func() {
		t.Helper()
		out, report, err := runCommand(t.Context(), "attend", "-server", p.url, "-name", "text", "-keys", "1500", "-tokens", "2", "-replicas", "1")
		if err != nil || !strings.Contains(out, "they have the bits that one machine gives") {
			t.Fatalf("%v\n%s%s", err, out, report)
		}
	}
	attend()
	p.workers["a"].interrupt(t)
	attend()
	if out, _, err := runCommand(t.Context(), "sequences", "-server", p.url); err != nil || holds(out, "a") {
		t.Errorf("%v\n%s", err, out)
	}
}
