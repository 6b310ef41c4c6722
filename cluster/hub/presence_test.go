package hub

import (
	"testing"
)

// A thing is held from Hold until release, by whatever connection, and no longer than its
// connection lasts.
func TestHold(t *testing.T) {
	s := serve(t, ServerConfig{})
	connect := func() *Conn {
		c, err := Connect(t.Context(), s.Client())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c
	}
	asks, holds, dies := connect(), connect(), connect()
	check := func(id string, want bool) {
		t.Helper()
		for _, c := range []*Conn{holds, dies, asks} { // what they sent has reached the server
			if !c.IsClosed() {
				if err := c.Flush(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if held, err := asks.IsHeld(t.Context(), id); held != want || err != nil {
			t.Errorf("%s: held %v, %v, want %v", id, held, err, want)
		}
	}
	check("x", false)
	release, err := holds.Hold("x")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dies.Hold("y"); err != nil {
		t.Fatal(err)
	}
	check("x", true)
	check("y", true)
	check("z", false)
	release()
	check("x", false)
	dies.Close()
	for held := true; held; { // the server notices
		if held, err = asks.IsHeld(t.Context(), "y"); err != nil {
			t.Fatal(err)
		}
	}
}
