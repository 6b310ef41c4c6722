package kernel_test

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"
)

// tensors are the tensors of a safetensors file by their names. The file is ours, so that only its
// types and sizes are checked. Package models/safetensors reads files of anyone.
type tensors map[string]*storedTensor

// A storedTensor is a tensor as the file has it.
type storedTensor struct {
	DType   string
	Shape   []int
	Offsets [2]int `json:"data_offsets"`
	data    []byte
}

// openTensors reads a file: the length of its header, the header, and the data.
func openTensors(t *testing.T, path string) tensors {
	t.Helper()
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	begin := 8 + int(binary.LittleEndian.Uint64(file))
	var f tensors
	if err := json.Unmarshal(file[8:begin], &f); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	delete(f, "__metadata__")
	for _, x := range f {
		x.data = file[begin+x.Offsets[0] : begin+x.Offsets[1]]
	}
	return f
}

// bytes returns the data of a tensor whose type is in dtypes.
func (f tensors) bytes(t *testing.T, name string, dtypes ...string) []byte {
	t.Helper()
	x, ok := f[name]
	if !ok || !slices.Contains(dtypes, x.DType) {
		t.Fatalf("no tensor %s of type %v", name, dtypes)
	}
	return x.data
}

// floats returns the numbers of a tensor of float32.
func (f tensors) floats(t *testing.T, name string) []float32 {
	t.Helper()
	var numbers []float32
	for raw := range slices.Chunk(f.bytes(t, name, "F32"), 4) {
		numbers = append(numbers, math.Float32frombits(binary.LittleEndian.Uint32(raw)))
	}
	return numbers
}

// integers returns the numbers of a tensor of int32 or int64.
func (f tensors) integers(t *testing.T, name string) []int64 {
	t.Helper()
	var numbers []int64
	raw := f.bytes(t, name, "I32", "I64")
	if f[name].DType == "I32" {
		for n := range slices.Chunk(raw, 4) {
			numbers = append(numbers, int64(int32(binary.LittleEndian.Uint32(n))))
		}
		return numbers
	}
	for n := range slices.Chunk(raw, 8) {
		numbers = append(numbers, int64(binary.LittleEndian.Uint64(n)))
	}
	return numbers
}
