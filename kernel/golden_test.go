package kernel_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"flag"
	"math"
	"os"
	"testing"

	"github.com/attn-go/attn/kernel"
)

var update = flag.Bool("update", false, "write testdata/golden.json anew, with generic")

const goldenFile = "testdata/golden.json"

// goldenCases are the calls whose outputs are pinned. A name says it all: never
// change a case, add new ones. They are small enough for an emulated CPU and
// together use every panel width, block folds, GQA, masks and remainders.
func goldenCases() map[string]attnCase {
	return map[string]attnCase{
		"plain":        {b: 1, h: 2, hkv: 2, lq: 64, lk: 64, d: 64, dv: 64, seed: 101},
		"one":          {b: 1, h: 1, hkv: 1, lq: 1, lk: 1, d: 1, dv: 1, seed: 102},
		"causal":       {b: 1, h: 2, hkv: 1, lq: 130, lk: 130, d: 32, dv: 32, mask: kernel.Causal(0), seed: 103},
		"cache":        {b: 1, h: 4, hkv: 2, lq: 9, lk: 600, d: 16, dv: 16, mask: kernel.Causal(591), seed: 104},
		"decode":       {b: 2, h: 8, hkv: 2, lq: 1, lk: 777, d: 24, dv: 24, seed: 105},
		"lengths":      {b: 3, h: 2, hkv: 1, lq: 20, lk: 300, d: 20, dv: 12, mask: kernel.KeyLengths([]int{300, 0, 257}), seed: 106},
		"odd":          {b: 1, h: 3, hkv: 3, lq: 37, lk: 259, d: 13, dv: 29, scale: 0.4375, seed: 107},
		"wide":         {b: 1, h: 1, hkv: 1, lq: 5, lk: 40, d: 257, dv: 3, seed: 108},
		"sharp":        {b: 1, h: 1, hkv: 1, lq: 33, lk: 515, d: 16, dv: 16, scale: 9, seed: 109},
		"flat":         {b: 1, h: 1, hkv: 1, lq: 17, lk: 512, d: 8, dv: 8, scale: 1.0 / (1 << 20), seed: 110},
		"negative":     {b: 1, h: 2, hkv: 1, lq: 50, lk: 50, d: 8, dv: 8, scale: -0.5, mask: kernel.Causal(-7), seed: 111},
		"tiny-numbers": {b: 1, h: 1, hkv: 1, lq: 18, lk: 30, d: 6, dv: 6, seed: 112},

		"decode-groups":   {b: 2, h: 12, hkv: 3, lq: 1, lk: 530, d: 40, dv: 33, mask: kernel.KeyLengths([]int{530, 259}), seed: 131},
		"decode-alone":    {b: 1, h: 2, hkv: 2, lq: 1, lk: 513, d: 15, dv: 18, seed: 132, layout: tokenMajor},
		"decode-several":  {b: 1, h: 8, hkv: 2, lq: 5, lk: 300, d: 72, dv: 20, mask: kernel.Causal(295), seed: 133},
		"decode-float16":  {b: 1, h: 8, hkv: 2, lq: 1, lk: 333, d: 64, dv: 48, seed: 134, types: callTypes{kernel.Float32, kernel.Float16, kernel.Float16, kernel.Float32}},
		"decode-bfloat16": {b: 1, h: 4, hkv: 1, lq: 2, lk: 290, d: 19, dv: 30, seed: 135, types: callTypes{kernel.BFloat16, kernel.BFloat16, kernel.BFloat16, kernel.BFloat16}},
		"decode-int8":     {b: 2, h: 4, hkv: 2, lq: 1, lk: 270, d: 32, dv: 32, seed: 136, types: callTypes{kernel.Float32, kernel.Int8, kernel.Int8, kernel.Float32}},

		"float16":   {b: 1, h: 2, hkv: 1, lq: 70, lk: 300, d: 32, dv: 24, mask: kernel.Causal(230), seed: 121, types: callTypes{kernel.Float16, kernel.Float16, kernel.Float16, kernel.Float16}},
		"bfloat16":  {b: 1, h: 2, hkv: 1, lq: 70, lk: 300, d: 32, dv: 24, mask: kernel.Causal(230), seed: 121, types: callTypes{kernel.BFloat16, kernel.BFloat16, kernel.BFloat16, kernel.BFloat16}},
		"int8":      {b: 1, h: 4, hkv: 2, lq: 3, lk: 515, d: 64, dv: 64, seed: 122, types: callTypes{kernel.Float32, kernel.Int8, kernel.Int8, kernel.Float32}},
		"int8-rows": {b: 2, h: 2, hkv: 1, lq: 33, lk: 40, d: 13, dv: 7, seed: 123, types: callTypes{kernel.BFloat16, kernel.Int8, kernel.Int8, kernel.Float16}},
		"mixed":     {b: 1, h: 2, hkv: 2, lq: 1, lk: 777, d: 20, dv: 36, seed: 124, types: callTypes{kernel.Float16, kernel.Int8, kernel.BFloat16, kernel.BFloat16}},
		"range":     {b: 1, h: 2, hkv: 1, lq: 40, lk: 40, d: 8, dv: 20, mask: kernel.Causal(0), seed: 125, types: callTypes{kernel.Float32, kernel.Float32, kernel.Float32, kernel.Float16}},
	}
}

// goldenInputs are the case's inputs; those of tiny-numbers are scaled down so
// that products and outputs are subnormal, and the values of range reach from
// below the smallest float16 to beyond the largest.
func goldenInputs(name string, c attnCase) (q, k, v kernel.Tensor) {
	q, k, v = c.inputs()
	if name == "tiny-numbers" {
		for _, t := range []*kernel.Tensor{&k, &v} {
			for i := range t.f32 {
				t.f32[i] *= 0x1p-127
			}
		}
	}
	if name == "range" {
		eachRow(&v, func(_, _, j int, row []float32) {
			for e := range row {
				row[e] *= float32(math.Ldexp(1, 4*(e%12)-27))
			}
		})
	}
	return c.typed(q, k, v)
}

// goldens returns by name what gives the hash of a call.
func goldens() map[string]func(t *testing.T, tier string, threads int) string {
	runs := map[string]func(t *testing.T, tier string, threads int) string{"partials": goldenPartials, "additive": goldenAdditive, "ragged": goldenRagged}
	for name, c := range goldenCases() {
		runs[name] = func(t *testing.T, tier string, threads int) string {
			q, k, v := goldenInputs(name, c)
			out := c.run(t, q, k, v, kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: threads}})
			return hash(&out)
		}
	}
	for name := range goldenOptions() {
		runs[name] = func(t *testing.T, tier string, threads int) string { return goldenOption(t, name, tier, threads) }
	}
	return runs
}

// hash is the sha256 of the bits in the order [B, H, L, D], little endian, of one
// tensor after the other.
func hash(tensors ...*kernel.Tensor) string {
	h := sha256.New()
	for _, t := range tensors {
		eachRow(t, func(_, _, _ int, row []float32) {
			for _, x := range row {
				h.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(x)))
			}
		})
	}
	return hex.EncodeToString(h.Sum(nil))
}

// TestGolden compares every tier's outputs with the committed hashes, which
// generic made. It is meant to run on every architecture.
func TestGolden(t *testing.T) {
	if *update {
		updateGolden(t)
	}
	golden := readGolden(t)
	for name, run := range goldens() {
		t.Run(name, func(t *testing.T) {
			eachTier(t, func(t *testing.T, tier *tier) {
				if got := run(t, tier.name, 0); got != golden[name] {
					t.Errorf("got %s, want %s", got, golden[name])
				}
			})
		})
	}
}

func readGolden(t *testing.T) map[string]string {
	data, err := os.ReadFile(goldenFile)
	if err != nil {
		t.Fatal(err)
	}
	golden := map[string]string{}
	if err := json.Unmarshal(data, &golden); err != nil {
		t.Fatal(err)
	}
	if n := len(goldens()); len(golden) != n {
		t.Fatalf("%s has %d hashes for %d cases", goldenFile, len(golden), n)
	}
	return golden
}

func updateGolden(t *testing.T) {
	golden := map[string]string{}
	for name, run := range goldens() {
		golden[name] = run(t, "generic", 1)
	}
	data, err := json.MarshalIndent(golden, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(goldenFile, append(data, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestGoldenCatchesOneRounding shows that the hashes can fail: a kernel that
// rounds one product of one lane, where the contract fuses, changes each of
// those that the product is not exact in.
func TestGoldenCatchesOneRounding(t *testing.T) {
	golden := readGolden(t)
	broken := genericTier()
	p := &broken.panels[0]
	tile := p.tile
	p.tile = func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k int, load bool) {
		tile(c, ldc, a, rs, cs, b, ldb, m, k, load)
		if m > 0 && k > 1 && !load { // the last step of c[0][0] again, rounded twice
			tile(c, ldc, a, rs, cs, b, ldb, 1, k-1, false)
			c[0] += float32(a[(k-1)*cs] * b[(k-1)*ldb])
		}
	}
	for _, name := range []string{"plain", "odd", "lengths", "flat"} {
		c := goldenCases()[name]
		q, k, v := goldenInputs(name, c)
		out := c.tensor(c.b, c.h, c.lq, c.dv, canary)
		c.job(&broken, out, q, k, v).run(nil)
		if hash(&out) == golden[name] {
			t.Errorf("%s: one rounding more went unnoticed", name)
		}
	}
}
