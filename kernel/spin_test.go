package kernel_test

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/attn-go/attn/kernel"
)

// TestSetSpin: it returns what was set before, and a negative duration only asks.
func TestSetSpin(t *testing.T) {
	first := kernel.SetSpin(time.Millisecond)
	defer kernel.SetSpin(first)
	if d := kernel.SetSpin(-1); d != time.Millisecond {
		t.Errorf("%v, want 1 ms", d)
	}
	if d := kernel.SetSpin(0); d != time.Millisecond {
		t.Errorf("%v, want 1 ms", d)
	}
	if d := kernel.SetSpin(first); d != 0 {
		t.Errorf("%v, want 0", d)
	}
}

// TestBadSpin: a bad ATTN_SPIN means the default. It runs itself as another process with that
// environment.
func TestBadSpin(t *testing.T) {
	if os.Getenv("ATTN_SPIN") != "soon" {
		test := exec.Command(os.Args[0], "-test.run=^TestBadSpin$")
		test.Env = append(os.Environ(), "ATTN_SPIN=soon")
		if text, err := test.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		return
	}
	if d := kernel.SetSpin(-1); d != 50*time.Microsecond {
		t.Errorf("spinning for %v, want the default", d)
	}
	out, q, k, v := good()
	if err := kernel.Attention(out, q, k, v, nil); err != nil {
		t.Error(err)
	}
}
