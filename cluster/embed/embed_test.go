package embed

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/attn-go/attn/cluster/relay"
	"github.com/attn-go/attn/kernel"
)

// TestWorkers expects the files of one machine from 1, 2 and 8 workers, each of another tier
// than its neighbour.
func TestWorkers(t *testing.T) {
	t.Parallel()
	b := newBench(t, 500)
	var tiers []string
	for _, tier := range kernel.Tiers() {
		tiers = append(tiers, tier.String())
	}
	running := 0
	for _, n := range []int{1, 2, 8} {
		for ; running < n; running++ {
			b.work(t, tiers[running%len(tiers)], nil)
		}
		if s := b.run(t, b.options()); s.Texts != 500 || s.Rejected != 16 || s.Resumed != 0 {
			t.Errorf("%d workers: %+v", n, s)
		}
	}
}

// TestOptions expects settings that change no byte of the files, and those that are refused.
func TestOptions(t *testing.T) {
	t.Parallel()
	b := newBench(t, 120)
	b.work(t, "", nil)
	for _, change := range []func(o *Options){
		func(o *Options) { o.JobTexts, o.Window = 1, 1 },
		func(o *Options) { o.JobTexts, o.JobBytes = 1000, 200 },
		func(o *Options) { o.Window = 1000 },
	} {
		o := b.options()
		change(&o)
		b.run(t, o)
	}
	for field, change := range map[string]func(o *Options){
		"Inputs":   func(o *Options) { o.Inputs = nil },
		"Output":   func(o *Options) { o.Output = "x.csv" },
		"MaxText":  func(o *Options) { o.MaxText = 1 << 20 },
		"JobTexts": func(o *Options) { o.JobTexts = -1 },
		"JobBytes": func(o *Options) { o.JobBytes = 1 << 20 },
		"Window":   func(o *Options) { o.Window = 1 << 17 },
		"Retry":    func(o *Options) { o.Retry = -1 },
		"Patience": func(o *Options) { o.Patience = -1 },
		"Format":   func(o *Options) { o.Format = "csv" },
	} {
		o := b.options()
		change(&o)
		var e *kernel.Error
		if _, err := (&Client{Conn: b.connect(t), Options: o}).Run(t.Context()); !errors.As(err, &e) || e.Arg() != field {
			t.Errorf("%s: got %v", field, err)
		}
	}
}

// TestResume interrupts a client again and again, at another place each time.
func TestResume(t *testing.T) {
	t.Parallel()
	b := newBench(t, 300)
	b.work(t, "", slow(20*time.Millisecond))
	interrupts, last := 0, Summary{}
	for at := int64(40); ; at += 40 {
		ctx, cancel := context.WithCancel(t.Context())
		c := Client{Conn: b.connect(t), Options: b.options()}
		c.Options.Window = 2
		c.Progress = func(p Progress) {
			if p.Texts >= at {
				cancel()
			}
		}
		s, err := c.Run(ctx)
		cancel()
		if err == nil {
			last = s
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		interrupts++
	}
	b.check(t)
	if interrupts == 0 || last.Resumed == 0 || last.Texts != 300 {
		t.Errorf("%d interrupts, %+v", interrupts, last)
	}
}

// TestChangedInput expects that a journal of another input is refused.
func TestChangedInput(t *testing.T) {
	t.Parallel()
	b := newBench(t, 100)
	ctx, cancel := context.WithCancel(t.Context())
	stop := b.seeLast(t, func(request context.Context) {
		cancel()
		<-request.Done()
	})
	o := b.options()
	c := Client{Conn: b.connect(t), Options: o}
	c.Options.Window = 1
	if _, err := c.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	data, err := os.ReadFile(b.input)
	if err != nil {
		t.Fatal(err)
	}
	for _, changed := range [][]byte{bytes.Replace(data, []byte("a"), []byte("b"), 1), nil} {
		if err := os.WriteFile(b.input, changed, 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := (&Client{Conn: b.connect(t), Options: o}).Run(t.Context()); !errors.Is(err, ErrMismatch) || !strings.Contains(err.Error(), ": record ") {
			t.Errorf("got %v, want one of the kind ErrMismatch", err)
		}
	}
	if err := os.WriteFile(b.input, data, 0o666); err != nil {
		t.Fatal(err)
	}
	b.run(t, o)
	stop()
}

// TestModels expects a client to refuse a choice between models, and to take the one it wants.
func TestModels(t *testing.T) {
	t.Parallel()
	b := newBench(t, 30)
	b.work(t, "", func(relay.Answerer) relay.Answerer { return answerer(t, tinyModel(), "", "other") })
	o := b.options()
	for _, name := range []string{"", "none"} {
		o.Model = name
		if _, err := (&Client{Conn: b.connect(t), Options: o}).Run(t.Context()); !errors.Is(err, ErrModels) || !strings.Contains(err.Error(), "tiny, other") {
			t.Errorf("%q: got %v, want both models", name, err)
		}
	}
	o.Model = "other"
	if s := b.run(t, o); s.Model != "other" {
		t.Errorf("model %s, want the other one", s.Model)
	}
}

// TestStalled expects an error when no worker is left, and a later run to go on.
func TestStalled(t *testing.T) {
	t.Parallel()
	b := newBench(t, 100)
	seen := make(chan struct{})
	stop := b.seeLast(t, func(request context.Context) {
		close(seen)
		<-request.Done()
	})
	go func() {
		<-seen
		stop()
	}()
	c := Client{Conn: b.connect(t), Options: b.options()}
	c.Options.Patience, c.Options.Window = 3*time.Second, 1
	for !closed(seen) { // on a busy machine a run may stall before
		var stalled *StalledError
		if _, err := c.Run(t.Context()); !errors.As(err, &stalled) || stalled.Outstanding < 1 {
			t.Fatalf("got %v, want a *StalledError", err)
		}
	}
	stop()
	b.work(t, "", nil)
	if s := b.run(t, b.options()); s.Resumed == 0 {
		t.Errorf("nothing is resumed: %+v", s)
	}
}

// TestReadError expects the error of an input that breaks off, and no files.
func TestReadError(t *testing.T) {
	t.Parallel()
	b := newBench(t, 0)
	b.work(t, "", nil)
	broken := errors.New("broken")
	for range 20 {
		o := b.options()
		o.Inputs, o.Stdin = []string{"-"}, io.MultiReader(strings.NewReader("a\nb\nc\n"), iotest.ErrReader(broken))
		if _, err := (&Client{Conn: b.connect(t), Options: o}).Run(t.Context()); !errors.Is(err, broken) {
			t.Fatalf("got %v, want %v", err, broken)
		}
		if _, err := os.Stat(o.Output); !os.IsNotExist(err) {
			t.Fatalf("there is an output: %v", err)
		}
	}
}
