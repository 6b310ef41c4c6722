package safetensors

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

// TestWrite: what was written is read again, and what does not fit is an error before a byte is
// written.
func TestWrite(t *testing.T) {
	tensors := []Tensor{
		{"b", []int{2, 3}, []float32{1, 2, 3, 4, 5, 6}},
		{"a <&>", []int{1}, []float32{-0.5}},
		{"none", []int{0, 7}, nil},
		{"number", nil, []float32{7}},
	}
	var b bytes.Buffer
	if err := Write(&b, map[string]string{"step": "17"}, tensors); err != nil {
		t.Fatal(err)
	}
	f, err := New(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if got := f.Metadata("step"); got != "17" {
		t.Errorf("metadata: %q", got)
	}
	for _, want := range tensors {
		info, ok := f.Info(want.Name)
		got, err := f.Float32(want.Name)
		if !ok || err != nil || info.DType != "F32" || !slices.Equal(info.Shape, want.Shape) || !slices.Equal(got, want.Data) {
			t.Errorf("%s: %v of %v, error %v", want.Name, got, info, err)
		}
	}
	for what, bad := range map[string][]Tensor{
		"taken":                 {{"a", []int{0}, nil}, {"a", []int{0}, nil}},
		"2 numbers":             {{"a", []int{3}, []float32{1, 2}}},
		"1 numbers":             {{"a", []int{-1, -1}, []float32{1}}},
		"shape [0 -1]":          {{"a", []int{0, -1}, nil}},
		"0 numbers":             {{"a", []int{math.MaxInt/2 + 1, 4}, nil}},
		"\"__metadata__\": the": {{"__metadata__", []int{0}, nil}},
	} {
		var b bytes.Buffer
		if err := Write(&b, nil, bad); err == nil || !strings.Contains(err.Error(), what) || b.Len() > 0 {
			t.Errorf("%s: %d bytes, error %v", what, b.Len(), err)
		}
	}
	if err := Write(brokenWriter{}, nil, tensors); !errors.Is(err, errBroken) {
		t.Errorf("error %v", err)
	}
}

var errBroken = errors.New("broken")

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }
