package main

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/command"
	"github.com/attn-go/attn/models/gobytes"
)

// TestRun: the files hold the chosen heads, name the model and the text, and are reported.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	svg, png := filepath.Join(dir, "a.svg"), filepath.Join(dir, "a.png")
	var report bytes.Buffer
	if err := run([]string{"-text", "x := 1\n", "-layer", "2", "-heads", "5,0", "-svg", svg, "-png", png}, &report); err != nil {
		t.Fatal(err)
	}
	if got, want := report.String(), "wrote "+png+", "+svg+"\n"; got != want {
		t.Errorf("report: %q, want %q", got, want)
	}
	text, err := os.ReadFile(svg)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{">head 5<", ">head 0<", `>\n<`, "gobytes", "layer 2", `x := 1\n`, ">query (byte)<", ">key (byte)<", ">hidden<"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in the SVG", want)
		}
	}
	if strings.Contains(string(text), ">head 1<") {
		t.Error("head 1 is in the SVG")
	}
	if data, err := os.ReadFile(png); err != nil || !bytes.HasPrefix(data, []byte("\x89PNG")) {
		t.Errorf("PNG: %d bytes, error %v", len(data), err)
	}
}

// TestFigure: the maps are the weights of the chosen layer, with the same bits on every tier.
func TestFigure(t *testing.T) {
	m, err := gobytes.Default()
	if err != nil {
		t.Fatal(err)
	}
	var want [][]float32
	for _, tier := range slices.Backward(kernel.Tiers()) {
		c := &config{text: strings.Repeat("if err != nil {\n", 3), layer: 3, settings: gobytes.Settings{Tier: tier}}
		if err := c.choose(m); err != nil {
			t.Fatal(err)
		}
		f, err := c.figure(m)
		if err != nil {
			t.Fatal(err)
		}
		if len(f.Maps) != m.Heads {
			t.Fatalf("%d maps, want %d", len(f.Maps), m.Heads)
		}
		for i, h := range f.Maps {
			if len(h.Weights) != len(c.text)*len(c.text) || h.Weights[0] != 1 {
				t.Errorf("head %d: %d weights, the first is %v", i, len(h.Weights), h.Weights[0])
			}
			if len(want) == i {
				want = append(want, h.Weights)
			}
			if !slices.Equal(h.Weights, want[i]) {
				t.Errorf("%s: head %d differs from generic", tier, i)
			}
		}
	}
}

// TestLayers: each layer has other weights. They are still there after the next layers.
func TestLayers(t *testing.T) {
	m, err := gobytes.Default()
	if err != nil {
		t.Fatal(err)
	}
	var layers [][]float32
	for layer := range m.Layers {
		f, err := (&config{text: "func main() {", layer: layer, heads: []int{0}}).figure(m)
		if err != nil {
			t.Fatal(err)
		}
		for i, other := range layers {
			if slices.Equal(f.Maps[0].Weights, other) {
				t.Errorf("layers %d and %d have the same weights", i, layer)
			}
		}
		layers = append(layers, f.Maps[0].Weights)
	}
}

func TestUsage(t *testing.T) {
	none := func(args ...string) error {
		return run(append([]string{"-svg", "", "-png", ""}, args...), new(bytes.Buffer))
	}
	for _, args := range [][]string{
		{"more"}, {"-text", ""}, {"-text", strings.Repeat("x", maxText+1)}, {"-layer", "4"}, {"-layer", "-1"}, {"-threads", "-1"},
		{"-heads", "6"}, {"-heads", "1,1"}, {"-heads", "x"}, {"-heads", ""}, {"-unknown"}, {"-tier", "none"},
	} {
		if err := none(args...); !errors.As(err, new(command.UsageError)) {
			t.Errorf("%q: %v, want a usage error", args, err)
		}
	}
	for _, args := range [][]string{{"-png", "x.jpg"}} {
		if err := none(args...); err == nil || errors.As(err, new(command.UsageError)) {
			t.Errorf("%q: %v, want an error that is no usage error", args, err)
		}
	}
	if err := none("-h"); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("-h: %v", err)
	}
}
