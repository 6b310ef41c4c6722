package tensors_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/filemap"
	"github.com/attn-go/attn/models/internal/inventory"
	"github.com/attn-go/attn/models/internal/packed"
	"github.com/attn-go/attn/models/internal/settings"
	"github.com/attn-go/attn/models/internal/tensors"
)

const n, k = 16, 96 // of testdata/quantized.py

// openQuantized returns the tensors of a case of testdata/quantized.py, and the weights that they
// should become.
func openQuantized(t *testing.T, name string, mapped bool) (*tensors.Store, []float32) {
	t.Helper()
	s, err := tensors.OpenModule("testdata/quantized.safetensors", name, mapped)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	want := (&tensors.Reader{Store: s}).Floats(name+".wanted", n, k)
	s.Drop(name + ".wanted")
	return s, want
}

// quantizationOf reads a quantization_config within the config.json of a model.
func quantizationOf(t *testing.T, config any) (*arch.Quantization, error) {
	t.Helper()
	var all map[string]any
	if err := filemap.ReadJSON("../../testdata/tiny/qwen3-2/config.json", &all); err != nil {
		t.Fatal(err)
	}
	all["quantization_config"] = config
	data, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "config.json"), data, 0o666); err != nil {
		t.Fatal(err)
	}
	m, err := settings.Decoders.ReadFolder(dir, func(key, got, want string) error { return &kernel.Error{Where: key, Got: got, Want: want} })
	if err != nil {
		return nil, err
	}
	return m.Quantized, nil
}

func quantizedCases(t *testing.T) (all map[string]map[string]any) {
	if err := filemap.ReadJSON("testdata/quantized.json", &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// weightsOf returns the weights of a layer, row after row.
func weightsOf(t *testing.T, l *linear.Linear) []float32 {
	rows, k := l.Shape()
	x, ids := make([]float32, rows*k), make([]int32, rows)
	for i := range ids {
		ids[i] = int32(i)
	}
	if err := l.Rows(linear.DenseMatrix(x, rows, k), ids, kernel.Exec{}); err != nil {
		t.Fatal(err)
	}
	return x
}

// TestQuantized: modules of quantizing libraries have the weights that these make of them, whole,
// in parts, mapped or not, packed as integers or as float32.
func TestQuantized(t *testing.T) {
	affine := 0
	for name, config := range quantizedCases(t) {
		q, err := quantizationOf(t, config)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, mapped := range []bool{true, false} {
			s, want := openQuantized(t, name, mapped)
			if err := s.Dequantize(q); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			part := tensors.Part{Name: name, Shape: []int{n, k}}
			some := part
			some.First, some.Rows = 5, 7
			for _, widen := range []bool{false, true} {
				r, v := &tensors.Reader{Store: s, Pack: tensors.Pack{Widen: widen}}, &inventory.Inventory{}
				l := r.Linear(tensors.Inner, part).One()
				if r.Err() != nil {
					t.Fatalf("%s: %v", name, r.Err())
				}
				if !slices.Equal(weightsOf(t, l), want) {
					t.Errorf("%s, widened %v: other weights", name, widen)
				}
				if got := weightsOf(t, r.Linear(tensors.Inner, some).One()); !slices.Equal(got, want[5*k:12*k]) {
					t.Errorf("%s, widened %v: other weights in a part", name, widen)
				}
				if got := r.Floats(name+".weight", n, k); !slices.Equal(got, want) {
					t.Errorf("%s: other numbers", name)
				}
				if s.Holds(name + ".weight") {
					t.Errorf("%s: memory is kept that was for reading", name)
				}
				if err := r.Done(); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				(&tensors.Reader{Store: s, Dry: v, Pack: r.Pack}).Linear(tensors.Inner, part)
				if packed := l.Format() == linear.Affine; packed != (v.Memory < 4*n*k) {
					t.Errorf("%s: packed %v, and %d bytes in the inventory", name, packed, v.Memory)
				} else if packed {
					affine++
				}
			}
		}
	}
	if affine != 2*11 {
		t.Errorf("%d layers are packed as integers, want 22", affine)
	}
}

// TestQuantizedMemory: the inventory counts what packed integers take, in groups of any size.
func TestQuantizedMemory(t *testing.T) {
	const rows, columns = 32, 96
	dense, err := linear.New(linear.DenseMatrix(make([]float32, rows*columns), rows, columns), nil, kernel.Exec{})
	if err != nil {
		t.Fatal(err)
	}
	before := dense.PackedSize() - 4*rows*columns // of the panels
	for _, bits := range []int{4, 8} {
		for _, group := range []int{8, 16, 32, 48, columns} {
			path := filepath.Join(t.TempDir(), "model.safetensors")
			words, scales := rows*columns*bits/32, rows*(columns/group)
			header := fmt.Sprintf(`{"x.weight_packed": {"dtype": "I32", "shape": [%d, %d], "data_offsets": [0, %d]},
				"x.weight_scale": {"dtype": "F16", "shape": [%d, %d], "data_offsets": [%d, %d]},
				"x.weight_shape": {"dtype": "I64", "shape": [2], "data_offsets": [%d, %d]}}`,
				rows, words/rows, 4*words, rows, columns/group, 4*words, 4*words+2*scales, 4*words+2*scales, 4*words+2*scales+16)
			data := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
			data = append(append(data, header...), make([]byte, 4*words+2*scales)...)
			data = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(data, rows), columns)
			if err := os.WriteFile(path, data, 0o666); err != nil {
				t.Fatal(err)
			}
			q, err := quantizationOf(t, map[string]any{"quant_method": "compressed-tensors", "format": "pack-quantized", "config_groups": map[string]any{"group_0": map[string]any{
				"targets": []string{"Linear"}, "weights": map[string]any{"num_bits": bits, "type": "int", "symmetric": true, "strategy": "group", "group_size": group},
			}}})
			if err != nil {
				t.Fatal(err)
			}
			s, err := tensors.OpenModule(path, "x", true)
			if err := errors.Join(err, s.Dequantize(q)); err != nil {
				t.Fatal(err)
			}
			part, r, v := tensors.Part{Name: "x", Shape: []int{rows, columns}}, &tensors.Reader{Store: s}, &inventory.Inventory{}
			l := r.Linear(tensors.Inner, part).One()
			if (&tensors.Reader{Store: s, Dry: v}).Linear(tensors.Inner, part); v.Memory != int64(l.PackedSize()-before) {
				t.Errorf("%d bits in groups of %d: %d bytes, want %d", bits, group, v.Memory, l.PackedSize()-before)
			}
			if err := errors.Join(r.Err(), s.Close()); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestQuantizedErrors: tensors that do not fit what quantization_config says, and modules that it
// excludes, are errors that name them.
func TestQuantizedErrors(t *testing.T) {
	cases := quantizedCases(t)
	for _, c := range []struct {
		name   string
		change func(config map[string]any)
		drop   string
		want   string
	}{
		{"fp8-blocks", func(c map[string]any) { c["weight_block_size"] = []int{12, 32} }, "", "[2 3] scales of [16 96] weights"},
		{"fp8-blocks", func(c map[string]any) { c["modules_to_not_convert"] = []string{"fp8-blocks"} }, "", "fp8-blocks is not quantized"},
		{"fp8-blocks", nil, "weight", "a tensor of F8_E4M3 beside fp8-blocks"},
		{"ct-fp8-tensor", func(c map[string]any) { c["ignore"] = []string{"re:ct-.*"} }, "", "ct-fp8-tensor is not quantized"},
		{"ct-int8-zeros", nil, "weight_zero_point", "a tensor of I8 beside"},
		{"ct-pack4-32-bfloat16", nil, "weight_shape", "a tensor of I64 or I32 beside"},
		{"ct-pack4-32-bfloat16", nil, "weight_scale", `config.json: quantization_config.quant_method: "compressed-tensors", and no tensors of it`},
		{"gptq-4", func(c map[string]any) { c["bits"] = 8 }, "", "[2 16] scales of [16 48] weights"},
		{"gptq-4", func(c map[string]any) { c["group_size"] = 16 }, "", "[6 16] scales of [16 96] weights"},
		{"gptq-4", nil, "qzeros", "a tensor of I32 beside gptq-4"},
		{"gptq-4-order", nil, "g_idx", "a tensor of I32 beside gptq-4-order"},
		{"awq", nil, "scales", "a tensor of F32 or F16 or BF16 beside awq"},
	} {
		config := cases[c.name]
		if c.change != nil {
			c.change(config)
		}
		q, err := quantizationOf(t, config)
		if err != nil {
			t.Fatal(err)
		}
		s, _ := openQuantized(t, c.name, true)
		s.Drop(c.name + "." + c.drop)
		if err := s.Dequantize(q); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s without %q: %v, want %q", c.name, c.drop, err, c.want)
		}
		cases = quantizedCases(t)
	}
	for name, scales := range map[string]string{"gptq-4": "scales", "awq": "scales", "ct-pack8-32-float16": "weight_scale"} {
		q, err := quantizationOf(t, cases[name])
		if err != nil {
			t.Fatal(err)
		}
		s, _ := openQuantized(t, name, true)
		s.Alias(name+"."+scales, name+".weight")
		if err := s.Dequantize(q); err == nil || !strings.Contains(err.Error(), name+".weight: ") || !strings.Contains(err.Error(), "nothing beside the integers") {
			t.Errorf("%s with weights beside its integers: %v", name, err)
		}
	}
	s, _ := openQuantized(t, "gptq-4", true)
	if q, err := quantizationOf(t, cases["awq"]); err != nil {
		t.Fatal(err)
	} else if err := s.Dequantize(q); err == nil {
		t.Error("tensors of GPTQ are read as those of AWQ")
	}
}

// TestQuantizationKeys: what a quantization_config says and is not known is an error that names it.
func TestQuantizationKeys(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(config map[string]any)
		key    string
	}{
		{"awq", func(c map[string]any) { c["quant_method"] = "hqq" }, "quantization_config.quant_method"},
		{"awq", func(c map[string]any) { c["version"] = "gemv" }, "quantization_config.version"},
		{"awq", func(c map[string]any) { c["bits"] = 3 }, "quantization_config.bits"},
		{"awq", func(c map[string]any) { c["mystery"] = 1 }, "quantization_config.mystery"},
		{"gptq-4", func(c map[string]any) { c["bits"] = 3 }, "quantization_config.bits"},
		{"gptq-4", func(c map[string]any) { c["group_size"] = 0 }, "quantization_config.group_size"},
		{"gptq-4", func(c map[string]any) { c["dynamic"] = map[string]any{"-:.*": 1} }, "quantization_config.dynamic"},
		{"gptq-4", func(c map[string]any) { c["checkpoint_format"] = "marlin" }, "quantization_config.checkpoint_format"},
		{"fp8-blocks", func(c map[string]any) { c["fmt"] = "e5m2" }, "quantization_config.fmt"},
		{"fp8-blocks", func(c map[string]any) { c["weight_block_size"] = []int{128} }, "quantization_config.weight_block_size"},
		{"fp8-blocks", func(c map[string]any) { c["expert_dtype"] = "fp4" }, "quantization_config.expert_dtype"},
		{"ct-fp8-block", func(c map[string]any) { c["kv_cache_scheme"] = map[string]any{"num_bits": 8} }, "quantization_config.kv_cache_scheme"},
		{"ct-fp8-block", func(c map[string]any) { c["ignore"] = []string{"re:(?=x)"} }, "quantization_config.ignore"},
		{"ct-fp8-block", func(c map[string]any) { c["config_groups"] = map[string]any{} }, "quantization_config.config_groups"},
		{"ct-fp8-block", func(c map[string]any) { weightsIn(c)["mystery"] = 1 }, "quantization_config.config_groups.group_0.weights.mystery"},
		{"ct-fp8-block", func(c map[string]any) { weightsIn(c)["strategy"] = "tensor_group" }, "quantization_config.config_groups.group_0.weights.strategy"},
		{"ct-fp8-block", func(c map[string]any) { groupIn(c)["targets"] = []string{} }, "quantization_config.config_groups.group_0.targets"},
		{"ct-fp8-block", func(c map[string]any) { delete(groupIn(c), "targets") }, "quantization_config.config_groups.group_0.targets"},
		{"ct-fp8-block", func(c map[string]any) { another(c, "re:x", "Linear") }, "quantization_config.config_groups.group_1.targets"},
		{"ct-fp8-channel", func(c map[string]any) { weightsIn(c)["group_size"] = 32 }, "quantization_config.config_groups.group_0.weights.group_size"},
		{"ct-fp8-tensor", func(c map[string]any) { weightsIn(c)["group_size"] = 32 }, "quantization_config.config_groups.group_0.weights.group_size"},
		{"ct-pack4-32-bfloat16", func(c map[string]any) { weightsIn(c)["actorder"] = "group" }, "quantization_config.config_groups.group_0.weights.actorder"},
		{"ct-pack4-32-bfloat16", func(c map[string]any) { weightsIn(c)["type"] = "float" }, "quantization_config.config_groups.group_0.weights.type"},
	} {
		config := quantizedCases(t)[c.name]
		c.change(config)
		q, err := quantizationOf(t, config)
		if err == nil || !strings.HasPrefix(err.Error(), c.key+": ") {
			t.Errorf("%s: %v and the error %v, want one of %s", c.name, q, err, c.key)
		}
	}
	for _, config := range []any{nil, "awq"} {
		if q, err := quantizationOf(t, config); q != nil || (err == nil) != (config == nil) {
			t.Errorf("%v: %v and the error %v", config, q, err)
		}
	}
}

func groupIn(config map[string]any) map[string]any {
	return config["config_groups"].(map[string]any)["group_0"].(map[string]any)
}

func weightsIn(config map[string]any) map[string]any {
	return groupIn(config)["weights"].(map[string]any)
}

// another adds a group of other modules.
func another(config map[string]any, targets ...string) {
	weights := maps.Clone(weightsIn(config))
	config["config_groups"].(map[string]any)["group_1"] = map[string]any{"targets": targets, "weights": weights}
}

// TestTargets: a scheme belongs to the modules that it names, and the one with Linear to all
// others.
func TestTargets(t *testing.T) {
	config := quantizedCases(t)["ct-fp8-channel"]
	groupIn(config)["targets"] = []string{"Linear", "re:a"}
	another(config, "re:b", "c")
	q, err := quantizationOf(t, config)
	if err != nil {
		t.Fatal(err)
	}
	for module, want := range map[string]int{"a": 0, "b": 1, "c": 1, "cc": 0, "d": 0} {
		if got := q.Of(module); got != &q.Schemes[want] {
			t.Errorf("module %s has the scheme %+v, want number %d", module, got, want)
		}
	}
	groupIn(config)["targets"] = []string{"re:a"}
	if q, err = quantizationOf(t, config); err != nil || q.Of("d") != nil {
		t.Errorf("a module that no group names has a scheme: %v", err)
	}
}

// TestKeepMade: kept layers of the same files with other settings are not taken, whatever is made
// of what, and layers of these settings replace them.
func TestKeepMade(t *testing.T) {
	const matrix = "gptq-4.weight"
	plain := func(*tensors.Store) {}
	times := func(by float64) func(s *tensors.Store) {
		return func(s *tensors.Store) { s.Multiply(matrix, []arch.Factor{{Rows: 2, By: by}}) }
	}
	add := func(s *tensors.Store) {
		if err := s.Merge(matrix, tensors.LowRank{A: make([]float32, k), B: make([]float32, n), Rank: 1, Scale: 1}); err != nil {
			t.Fatal(err)
		}
	}
	separate := func(heads, keys int) func(s *tensors.Store) {
		return func(s *tensors.Store) {
			s.Alias(matrix, "x.kv_b_proj.weight")
			s.SeparateLatents(heads, keys, n/heads-keys)
			s.Alias("x.v_b_proj.weight", matrix)
		}
	}
	for i, c := range []struct {
		formats [2]string
		made    [2]func(s *tensors.Store)
		shape   []int
	}{
		{[2]string{"gptq", "gptq_v2"}, [2]func(s *tensors.Store){plain, plain}, []int{n, k}},
		{[2]string{"gptq", "gptq"}, [2]func(s *tensors.Store){times(0.5), times(0.25)}, []int{n, k}},
		{[2]string{"gptq", "gptq_v2"}, [2]func(s *tensors.Store){times(0.5), times(0.5)}, []int{n, k}},
		{[2]string{"gptq", "gptq_v2"}, [2]func(s *tensors.Store){add, add}, []int{n, k}},
		{[2]string{"gptq", "gptq_v2"}, [2]func(s *tensors.Store){separate(2, 4), separate(2, 4)}, []int{2, 4, k}},
	} {
		path := filepath.Join(t.TempDir(), "quantized.safetensors")
		if data, err := os.ReadFile("testdata/quantized.safetensors"); err != nil {
			t.Fatal(err)
		} else if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		for j, format := range c.formats {
			want, _ := loadMade(t, path, format, c.made[j], c.shape, false)
			var times [2]time.Time
			for n := range times {
				var got []float32
				if got, times[n] = loadMade(t, path, format, c.made[j], c.shape, true); !slices.Equal(got, want) {
					t.Errorf("case %d, settings %d: other weights when they are kept", i, j)
				}
			}
			if times[0] != times[1] {
				t.Errorf("case %d, settings %d: layers were packed again", i, j)
			}
		}
	}
}

// loadMade returns the weights of a module of which others are made, and when the layers were
// written that are kept.
func loadMade(t *testing.T, path, format string, made func(s *tensors.Store), shape []int, keep bool) ([]float32, time.Time) {
	t.Helper()
	config := quantizedCases(t)["gptq-4"]
	config["checkpoint_format"] = format
	q, err := quantizationOf(t, config)
	if err != nil {
		t.Fatal(err)
	}
	s, err := tensors.OpenModule(path, "gptq-4", true)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Dequantize(q); err != nil {
		t.Fatal(err)
	}
	made(s)
	r := &tensors.Reader{Store: s}
	if keep {
		if err := r.KeepPacked(); err != nil {
			t.Fatal(err)
		}
		defer r.Packed.Close()
	}
	weights := weightsOf(t, r.Linear(tensors.Inner, tensors.Part{Name: "gptq-4", Shape: shape}).One())
	if err := errors.Join(r.Err(), r.End()); err != nil {
		t.Fatal(err)
	} else if !keep {
		return weights, time.Time{}
	}
	info, err := os.Stat(path + packed.Suffix)
	if err != nil {
		t.Fatal(err)
	}
	return weights, info.ModTime()
}
