package main

import (
	"strings"
	"testing"
)

// Who takes much of the CPU time is named before anything is measured; little, or nothing known, is not.
func TestBusyNote(t *testing.T) {
	little, much := 2.0, 45.0
	for _, c := range []struct {
		others, steal *float64
		want          string
	}{
		{nil, nil, ""},
		{&little, &little, ""},
		{&much, &little, "other programs take 45% of the CPU time now"},
		{&little, &much, "other virtual machines take 45% of the CPU time now"},
		{nil, &much, "other virtual machines"},
	} {
		if got := busyNote(c.others, c.steal); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
