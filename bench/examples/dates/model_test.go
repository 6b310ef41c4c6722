package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/safetensors"
)

var (
	//go:embed testdata/reference.json
	referenceJSON []byte
	//go:embed testdata/reference.safetensors
	referenceFile []byte
)

func defaultModel(t testing.TB) *model {
	t.Helper()
	m, err := loadDefault()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// references returns eight texts and their dates.
func references(t testing.TB) (texts, dates []string) {
	t.Helper()
	var cases []struct{ Text, ISO string }
	if err := json.Unmarshal(referenceJSON, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		texts, dates = append(texts, c.Text), append(dates, c.ISO)
	}
	if len(texts) != 8 {
		t.Fatalf("%d references, want 8", len(texts))
	}
	return texts, dates
}

// A trace is everything that the model computes for one text: the states of the encoder,
// and the numbers of the decoder, step by step.
type trace struct{ states, alignments, contexts, decoderStates, logits []float32 }

func (t *trace) parts() map[string][]float32 {
	return map[string][]float32{
		"states": t.states, "alignments": t.alignments, "contexts": t.contexts,
		"decoder_states": t.decoderStates, "logits": t.logits,
	}
}

// tolerances are the largest differences to PyTorch's numbers that pass. PyTorch computes
// in another order and so rounds differently.
var tolerances = map[string]float64{"states": 1e-5, "alignments": 1e-5, "contexts": 1e-5, "decoder_states": 1e-5, "logits": 1e-4}

// steps is the number of steps in a trace: ten characters and the end.
const steps = 11

// traces runs the model on texts side by side. Each step reads the likeliest characters
// of the step before. The traces have no padding.
func traces(t testing.TB, m *model, s settings, texts ...string) []trace {
	t.Helper()
	e, err := m.encode(texts, s)
	if err != nil {
		t.Fatal(err)
	}
	result := make([]trace, len(texts))
	for i := range result {
		result[i].states = slices.Clone(e.states[i*e.longest*stateSize:][:e.lengths[i]*stateSize])
	}
	d := m.newDecoder(e, s)
	last := make([]int, len(texts))
	for range steps {
		if err := d.step(last); err != nil {
			t.Fatal(err)
		}
		for i := range texts {
			r := &result[i]
			r.alignments = append(r.alignments, d.alignment[i*e.longest:][:e.lengths[i]]...)
			r.contexts = append(r.contexts, d.context[i*stateSize:][:stateSize]...)
			r.decoderStates = append(r.decoderStates, d.cell.row(i)...)
			r.logits = append(r.logits, d.logits[i*len(m.output):][:len(m.output)]...)
			last[i] = d.likeliest(i)
		}
	}
	return result
}

// torch returns what PyTorch computed for the texts, without padding.
func torch(t testing.TB, texts []string) []trace {
	t.Helper()
	f, err := safetensors.New(bytes.NewReader(referenceFile), int64(len(referenceFile)))
	if err != nil {
		t.Fatal(err)
	}
	lengths, err := f.Int64("lengths")
	if err != nil {
		t.Fatal(err)
	}
	result := make([]trace, len(texts))
	for name := range tolerances {
		x, err := f.Float32(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, text := range texts {
			if int(lengths[i]) != len(text) {
				t.Fatalf("%q: length %d in the reference", text, lengths[i])
			}
			one := x[len(x)/len(texts)*i:][:len(x)/len(texts)]
			switch r := &result[i]; name {
			case "states":
				r.states = one[:len(text)*stateSize]
			case "alignments":
				for row := range slices.Chunk(one, len(one)/steps) {
					r.alignments = append(r.alignments, row[:len(text)]...)
				}
			case "contexts":
				r.contexts = one
			case "decoder_states":
				r.decoderStates = one
			case "logits":
				r.logits = one
			}
		}
	}
	return result
}

// eachTier runs f on every tier that this CPU can run.
func eachTier(t *testing.T, f func(t *testing.T, s settings)) {
	for _, tier := range kernel.Tiers() {
		t.Run(tier.String(), func(t *testing.T) { f(t, settings{tier: tier}) })
	}
}

// TestReference compares everything that is computed for eight texts with PyTorch.
func TestReference(t *testing.T) {
	m := defaultModel(t)
	texts, _ := references(t)
	want := torch(t, texts)
	eachTier(t, func(t *testing.T, s settings) {
		worst := map[string]float64{}
		for i, got := range traces(t, m, s, texts...) {
			wanted := want[i].parts()
			for name, x := range got.parts() {
				worst[name] = max(worst[name], distance(t, x, wanted[name]))
			}
		}
		for name, tolerance := range tolerances {
			if !(worst[name] <= tolerance) {
				t.Errorf("%s differ by %g, want at most %g", name, worst[name], tolerance)
			}
		}
		t.Logf("largest differences to PyTorch: %v", worst)
	})
}

// distance returns the largest difference of two numbers.
func distance(t testing.TB, got, want []float32) float64 {
	t.Helper()
	if len(got) != len(want) || len(got) == 0 {
		t.Fatalf("%d numbers, want %d", len(got), len(want))
	}
	worst := 0.0
	for i, x := range got {
		worst = max(worst, math.Abs(float64(x)-float64(want[i])))
	}
	return worst
}

// TestSameBits: the bits do not depend on the tier, the threads or the rest of the batch.
func TestSameBits(t *testing.T) {
	m := defaultModel(t)
	texts, _ := references(t)
	want := traces(t, m, settings{tier: kernel.Tiers()[len(kernel.Tiers())-1], threads: 1}, texts...)
	eachTier(t, func(t *testing.T, s settings) {
		for s.threads = 1; s.threads <= 2; s.threads++ {
			for i, got := range traces(t, m, s, texts...) {
				sameBits(t, fmt.Sprintf("%q of all, %d threads", texts[i], s.threads), got, want[i])
			}
			for i, text := range texts {
				sameBits(t, fmt.Sprintf("%q alone, %d threads", text, s.threads), traces(t, m, s, text)[0], want[i])
			}
		}
	})
}

func sameBits(t testing.TB, what string, got, want trace) {
	t.Helper()
	wanted := want.parts()
	for name, x := range got.parts() {
		if len(x) != len(wanted[name]) {
			t.Fatalf("%s: %s: %d numbers, want %d", what, name, len(x), len(wanted[name]))
		}
		for i := range x {
			if math.Float32bits(x[i]) != math.Float32bits(wanted[name][i]) {
				t.Fatalf("%s: %s: number %d is %v, want %v", what, name, i, x[i], wanted[name][i])
			}
		}
	}
}

// TestAttendAtOnce: attention with the states of all steps in one call gives the same
// contexts and alignments, bit by bit, as a call for each step.
func TestAttendAtOnce(t *testing.T) {
	m := defaultModel(t)
	texts, _ := references(t)
	eachTier(t, func(t *testing.T, s settings) {
		for _, text := range texts {
			e, err := m.encode([]string{text}, s)
			if err != nil {
				t.Fatal(err)
			}
			want := traces(t, m, s, text)[0]
			states := slices.Concat(e.start, want.decoderStates[:(steps-1)*stateSize])
			queries := make([]float32, steps*hiddenSize)
			if err := s.apply(m.queries, queries, states); err != nil {
				t.Fatal(err)
			}
			got := want
			got.contexts, got.alignments = make([]float32, steps*stateSize), make([]float32, steps*len(text))
			if err := m.attend(e, got.contexts, got.alignments, queries, s); err != nil {
				t.Fatal(err)
			}
			sameBits(t, text, got, want)
		}
	})
}

// TestTranslate translates all texts in one call, and each text in its own call.
func TestTranslate(t *testing.T) {
	m := defaultModel(t)
	texts, dates := references(t)
	eachTier(t, func(t *testing.T, s settings) {
		check := func(texts, dates []string) {
			result, err := m.translate(texts, s)
			if err != nil {
				t.Fatal(err)
			}
			for i, r := range result {
				if string(r.date) != dates[i] || string(r.text) != texts[i] {
					t.Errorf("%q is %q, want %q", texts[i], string(r.date), dates[i])
				}
				if len(r.alignment) != len(r.date)*len(r.text) {
					t.Errorf("%q: an alignment of %d numbers, want %d·%d", texts[i], len(r.alignment), len(r.date), len(r.text))
				}
			}
		}
		check(texts, dates)
		for i := range texts {
			check(texts[i:i+1], dates[i:i+1])
		}
	})
}

func TestBadTexts(t *testing.T) {
	m := defaultModel(t)
	for _, texts := range [][]string{nil, {""}, {"21 November 2026", ""}, {"21 Nov€mber"}, {strings.Repeat("1", maxLength+1)}, {"\xff"}} {
		if _, err := m.translate(texts, settings{}); err == nil {
			t.Errorf("%q: no error", texts)
		}
	}
}

// TestBadFiles: loading a damaged file returns an error, wherever the damage is.
func TestBadFiles(t *testing.T) {
	for name, damage := range map[string][2]string{
		"no alphabet":      {`"input"`, `"inpvt"`},
		"no character":     {`\"0\"`, `\"\" `},
		"long character":   {`\"0\", \"1`, `\"01\", \"`},
		"start":            {`^`, `~`},
		"shorter alphabet": {`\"0\", \"1\"`, `\"0\"       `},
		"other name":       {`"start.bias"`, `"start.bios"`},
		"other shape":      {`[47,24]`, `[24,47]`},
		"other type":       {`"F32"`, `"I32"`},
	} {
		b := bytes.Replace(embedded, []byte(damage[0]), []byte(damage[1]), 1)
		if bytes.Equal(b, embedded) {
			t.Fatalf("%s: nothing was damaged", name)
		}
		if _, err := load(bytes.NewReader(b), int64(len(b))); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for _, b := range [][]byte{nil, embedded[:len(embedded)-1]} {
		if _, err := load(bytes.NewReader(b), int64(len(b))); err == nil {
			t.Errorf("%d bytes: no error", len(b))
		}
	}
}
