package decoder

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/internal/tinyfolders"
)

// A rawTensor is a tensor of a safetensors file.
type rawTensor struct {
	DType   string `json:"dtype"`
	Shape   []int  `json:"shape"`
	Offsets [2]int `json:"data_offsets"`
	data    []byte
}

// exchange puts tensors of a folder's model.safetensors in the place of another one.
func exchange(t *testing.T, dir, old string, tensors map[string]*rawTensor) {
	t.Helper()
	path := filepath.Join(dir, "model.safetensors")
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	size := 8 + binary.LittleEndian.Uint64(file)
	all := map[string]*rawTensor{}
	if err := json.Unmarshal(file[8:size], &all); err != nil {
		t.Fatal(err)
	}
	delete(all, "__metadata__")
	for _, x := range all {
		x.data = file[size:][x.Offsets[0]:x.Offsets[1]]
	}
	if delete(all, old); len(tensors) == 0 {
		t.Fatal("no tensors")
	}
	var data []byte
	for name, x := range tensors {
		all[name] = x
	}
	for _, x := range all {
		x.Offsets = [2]int{len(data), len(data) + len(x.data)}
		data = append(data, x.data...)
	}
	header, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, slices.Concat(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header, data), 0o666); err != nil {
		t.Fatal(err)
	}
}

func floatBytes(x []float32) (raw []byte) {
	for _, y := range x {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(y))
	}
	return raw
}

// TestQuantizedFolder: a folder with a layer in FP8 or of GPTQ has the logits of one that has the
// same weights as float32. Which weights those are, package tensors tests.
func TestQuantizedFolder(t *testing.T) {
	const name = "model.layers.0.mlp.down_proj"
	plain := copied(t, "granite-6")
	x, err := openFolder(plain, generates, Options{})
	if err != nil {
		t.Fatal(err)
	}
	info, _ := x.Info("blk.0.ffn_down.weight")
	if err := x.close(); err != nil {
		t.Fatal(err)
	}
	n, k := info.Shape[0], info.Shape[1]
	random := func(i int) uint32 { return uint32(i)*2654435761 ^ uint32(i)<<7 }
	codes, words, weights := make([]byte, n*k), make([]byte, n*k/2), [2][]float32{make([]float32, n*k), make([]float32, n*k)}
	for i := range n * k {
		codes[i] = byte(random(i)>>16) &^ 0x40 // small numbers
		weights[0][i] = kernel.F8E4M3(codes[i]).Float32() * 0.5
		q := random(i) >> 20 & 15
		word := words[4*(i%k/8*n+i/k):] // 8 inputs of an output
		binary.LittleEndian.PutUint32(word, binary.LittleEndian.Uint32(word)|q<<(i%k%8*4))
		weights[1][i] = 0.25 * float32(int(q)-8)
	}
	scales, zeros := make([]float32, n), make([]byte, n/2)
	for i := range scales {
		scales[i] = 0.25
	}
	for i := range zeros {
		zeros[i] = 0x77 // 8, less 1
	}
	for i, c := range []struct {
		config  map[string]any
		tensors map[string]*rawTensor
	}{
		{map[string]any{"quant_method": "fp8"}, map[string]*rawTensor{
			name + ".weight": {"F8_E4M3", []int{n, k}, [2]int{}, codes}, name + ".weight_scale_inv": {"F32", []int{1, 1}, [2]int{}, floatBytes([]float32{0.5})},
		}},
		{map[string]any{"quant_method": "gptq", "bits": 4, "group_size": -1}, map[string]*rawTensor{
			name + ".qweight": {"I32", []int{k / 8, n}, [2]int{}, words}, name + ".qzeros": {"I32", []int{1, n / 8}, [2]int{}, zeros}, name + ".scales": {"F32", []int{1, n}, [2]int{}, floatBytes(scales)},
		}},
	} {
		dir, same := copied(t, "granite-6"), copied(t, "granite-6")
		exchange(t, dir, name+".weight", c.tensors)
		exchange(t, same, name+".weight", map[string]*rawTensor{name + ".weight": {"F32", []int{n, k}, [2]int{}, floatBytes(weights[i])}})
		tinyfolders.SetKey(t, dir, "quantization_config", c.config)
		var want []float32
		for j, load := range []struct {
			dir  string
			keep bool
		}{{same, false}, {dir, false}, {dir, true}, {dir, true}} { // the last one is mapped
			m, err := Load(load.dir, Options{KeepPacked: load.keep})
			if err != nil {
				t.Fatal(err)
			}
			if got := adaptedLogits(t, m); j == 0 {
				want = got
			} else if !slices.Equal(got, want) {
				t.Errorf("%v, packed layers kept %v: other logits", c.config, load.keep)
			}
		}
	}
}
