package kernel_test

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
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

// TestBadSpin: with a bad ATTN_SPIN every call returns an error that names it, until
// SetSpin is called. It runs itself as another process with that environment.
func TestBadSpin(t *testing.T) {
	if os.Getenv("ATTN_SPIN") != "soon" {
		test := exec.Command(os.Args[0], "-test.run=^TestBadSpin$")
		test.Env = append(os.Environ(), "ATTN_SPIN=soon")
		if text, err := test.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		return
	}
	out, q, k, v := good()
	x := linear.DenseMatrix([]float32{1}, 1, 1)
	layer, err := linear.New(x, nil, kernel.Exec{})
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string]func() error{
		"Attention": func() error { return kernel.Attention(out, q, k, v, kernel.Options{}) },
		"Apply": func() error {
			return layer.Apply(linear.DenseMatrix(make([]float32, 1), 1, 1), x, linear.Options{})
		},
	}
	for name, call := range calls {
		var bad *kernel.ArgumentError
		if err := call(); !errors.As(err, &bad) || bad.Arg != "ATTN_SPIN" || !strings.Contains(bad.Got, "soon") {
			t.Errorf("%s: got %v, want an ArgumentError about ATTN_SPIN", name, err)
		}
	}
	if d := kernel.SetSpin(-1); d != 50*time.Microsecond {
		t.Errorf("spinning for %v, want the default", d)
	}
	kernel.SetSpin(0)
	for name, call := range calls {
		if err := call(); err != nil {
			t.Errorf("%s after SetSpin: %v", name, err)
		}
	}
}
