package tier

import (
	"cmp"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/internal/ukernel"
)

// TestMain lists the tiers and the CPU features that their kernels need, so that every test log
// says what was really tested.
func TestMain(m *testing.M) {
	fmt.Printf("attn: %s/%s\n", runtime.GOOS, runtime.GOARCH)
	for i := range Tiers {
		t := &Tiers[i]
		if lacks := t.Lacks(); lacks != "" {
			fmt.Printf("attn: tier %s is NOT tested: %s\n", t.Name, lacks)
			continue
		}
		all := t.List()
		fmt.Printf("attn: tier %s is tested, with kernels for %s\n", t.Name, cmp.Or(strings.Join(features(all), " "), "any CPU"))
		for _, k := range all {
			if k.ISA == "" && len(t.ISAs) > 0 {
				fmt.Printf("attn: tier %s runs %s in Go\n", t.Name, k.Name)
			}
		}
	}
	os.Exit(m.Run())
}

// A kernelSet is what a call is made with: the kernels of a tier, with a query tile of it. Tests
// may replace any of them.
type kernelSet struct {
	ukernel.TileKernels
	Gradients   ukernel.Gradients
	Skinny      ukernel.SkinnyKernels
	Convert     ukernel.Converters
	Weights     ukernel.WeightKernels
	Elementwise ukernel.Elementwise
	Norms       ukernel.Norms
	Activations ukernel.Activations
	Rows        ukernel.Rows
	Unit        ukernel.Unit
}

// set returns the tier's kernels with tile i.
func (t *Tier) set(i int) *kernelSet {
	tile := t.Tiles()[i]
	return &kernelSet{tile, *t.Gradients(tile.Lanes), *t.Skinny(), *t.Convert(), *t.Weights(), *t.Elementwise(), *t.Norms(), *t.Activations(), *t.Rows(), *t.Unit()}
}

// ref are the kernels of package fallback.
var ref = Reference().set(0)

// kernels returns the kernels of a set by their names in kernelTests.
func (k *kernelSet) kernels() map[string]reflect.Value {
	all := map[string]reflect.Value{}
	eachKernel("", reflect.ValueOf(k).Elem(), func(name string, _ []int, f reflect.Value) {
		name = strings.TrimPrefix(name, ".")
		for _, embedded := range []string{"TileKernels.Products.", "TileKernels.LaneKernels."} {
			name = strings.TrimPrefix(name, embedded)
		}
		all[name] = f
	})
	return all
}

// testName is the name that kernelTests has for a kernel of [Tier.List].
func testName(kernel string) string {
	return strings.TrimPrefix(strings.TrimPrefix(kernel, "Products."), "Lanes.")
}

// has reports whether the tier has a kernel, given as in kernelTests.
func (k *kernelSet) has(kernel string) bool { return !k.kernels()[kernel].IsNil() }

// kernelTests names the kernels of kernelSet and lists the calls that test them on
// query tiles of w lanes.
var kernelTests = []struct {
	name  string
	cases func(w int) []kernelCase
}{
	{"Gemm", gemmCases(gemmFromZero, gemmFromC)},
	{"GemmMax", gemmCases(gemmMax)},
	{"GemmMerge", gemmCases(gemmMerge)},
	{"GemmEvenOdd", evenOddCases(evenOdd)},
	{"Weights.GemmPairs", evenOddCases(panelPairs)},
	{"Unit.GemmTiles", tileCases(tiles)},
	{"Unit.GemmHalves", tileCases(tileHalves)},
	{"Unit.Maxima", betweenCases(false)},
	{"Unit.SoftmaxPairs", betweenCases(true)},
	{"Unit.Factors", factorsCases},
	{"Unit.PackPairs", weightPackCases(packedPairs)},
	{"Unit.RoundHalves", roundHalvesCases},
	{"Unit.ScoreHalves", scoreHalvesCases},
	{"Convert.RoundBF16", roundBF16Cases},
	{"Convert.WidenPairs", pairsOf16Cases(false)},
	{"Convert.NarrowPairs", pairsOf16Cases(true)},
	{"Skinny.Additive", additiveCases},
	{"Elementwise.AdditiveBackward", additiveBackwardCases},
	{"Elementwise.AddWeighted", addWeightedCases},
	{"Elementwise.Rotate", rotateCases},
	{"Elementwise.AdamW", adamWCases},
	{"Softcap", softcapCases},
	{"MaskSpan", maskSpanCases},
	{"Elementwise.Exp2", functionCases(exp2Of)},
	{"Elementwise.Tanh", functionCases(tanhOf)},
	{"ALiBi", alibiCases},
	{"Bias", biasCases},
	{"MaskBool", maskBoolCases},
	{"Softmax", softmaxCases},
	{"SoftmaxBF16", softmaxBF16Cases},
	{"Dropout", dropoutCases},
	{"MergeStats", mergeStatsCases},
	{"Pack", packCases},
	{"Unpack", unpackCases},
	{"Round", roundCases},
	{"ScaleRows", scaleRowsCases},
	{"CodeScores", codeScoresCases},
	{"CodeValues", codeValuesCases},
	{"CodeMerge", codeMergeCases},
	{"HeadScores", headScoresCases},
	{"Skinny.HeadValues", headValuesCases},
	{"Skinny.QK", skinnyQKCases},
	{"Skinny.PV", skinnyPVCases},
	{"Skinny.QKF16", narrowQKCases(f16)},
	{"Skinny.QKBF16", narrowQKCases(bf16)},
	{"Skinny.QKInt8", narrowQKCases(int8s)},
	{"Skinny.PVF16", narrowPVCases(f16)},
	{"Skinny.PVBF16", narrowPVCases(bf16)},
	{"Skinny.PVInt8", narrowPVCases(int8s)},
	{"Skinny.QKRows", rowsQKCases(0, true)},
	{"Skinny.PVRows", rowsPVCases(0, true)},
	{"Skinny.QKRowsF16", rowsQKCases(f16, false)},
	{"Skinny.QKRowsBF16", rowsQKCases(bf16, false)},
	{"Skinny.QKRowsInt8", rowsQKCases(int8s, false)},
	{"Skinny.PVRowsF16", rowsPVCases(f16, false)},
	{"Skinny.PVRowsBF16", rowsPVCases(bf16, false)},
	{"Skinny.PVRowsInt8", rowsPVCases(int8s, false)},
	{"Skinny.QKRowsF8E4M3", rowsQKCases(e4m3, false)},
	{"Skinny.PVRowsF8E4M3", rowsPVCases(e4m3, false)},
	{"Skinny.QKRowsF8E5M2", rowsQKCases(e5m2, false)},
	{"Skinny.PVRowsF8E5M2", rowsPVCases(e5m2, false)},
	{"Skinny.QKRowsInt4", rowsQKCases(int4s, false)},
	{"Skinny.PVRowsInt4", rowsPVCases(int4s, false)},
	{"Skinny.HalvesE4M3", halvesCases(false)},
	{"Skinny.HalvesE5M2", halvesCases(true)},
	{"Skinny.QKEvenOdd", narrowQKCases(factors)},
	{"Skinny.PVEvenOdd", narrowPVCases(factors)},
	{"Skinny.QKCodes", keyCodesCases},
	{"Skinny.QKCodes4", keyCodes4Cases},
	{"Skinny.Pairs", pairsCases},
	{"Skinny.GroupPairs", groupPairsCases},
	{"Skinny.PVCodes", valueCodesCases},
	{"Skinny.PVCodes4", valueCodes4Cases},
	{"Skinny.Softmax", skinnySoftmaxCases},
	{"Skinny.Merge", skinnyMergeCases},
	{"Skinny.Unpack", skinnyUnpackCases},
	{"Convert.Widen.float16", widenCases(ukernel.Float16)},
	{"Convert.Widen.bfloat16", widenCases(ukernel.BFloat16)},
	{"Convert.Widen.float8_e4m3", widenCases(ukernel.Float8E4M3)},
	{"Convert.Widen.float8_e5m2", widenCases(ukernel.Float8E5M2)},
	{"Convert.WidenInt8", widenInt8Cases},
	{"Convert.WidenInt4", widenInt4Cases},
	{"Convert.UnpackInt4", unpackInt4Cases},
	{"Convert.Narrow.float16", narrowCases(ukernel.Float16)},
	{"Convert.Narrow.bfloat16", narrowCases(ukernel.BFloat16)},
	{"Convert.Narrow.float8_e4m3", narrowCases(ukernel.Float8E4M3)},
	{"Convert.Narrow.float8_e5m2", narrowCases(ukernel.Float8E5M2)},
	{"Convert.QuantizeInt8", quantizeCases},
	{"Convert.QuantizeInt4", quantizeInt4Cases},
	{"Convert.PairColumns", pairCases(false)},
	{"Convert.PairRows", pairCases(true)},
	{"Convert.Flush", flushCases},
	{"Convert.Gather", gatherCases},
	{"Convert.Finite", finiteCases},
	{"Weights.Gemm", weightCases(float32s)},
	{"Weights.GemmF16", weightCases(f16s)},
	{"Weights.GemmBF16", weightCases(bf16s)},
	{"Weights.Blocks.S8.Gemm", blockCases(ukernel.S8)},
	{"Weights.Blocks.S4.Gemm", blockCases(ukernel.S4)},
	{"Weights.Blocks.U4.Gemm", blockCases(ukernel.U4)},
	{"Weights.Blocks.E2M1.Gemm", blockCases(ukernel.E2M1)},
	{"Weights.Blocks.IQ4.Gemm", blockCases(ukernel.IQ4)},
	{"Weights.Blocks.S8.Widen", blockWidenCases(ukernel.S8)},
	{"Weights.Blocks.S4.Widen", blockWidenCases(ukernel.S4)},
	{"Weights.Blocks.U4.Widen", blockWidenCases(ukernel.U4)},
	{"Weights.Blocks.E2M1.Widen", blockWidenCases(ukernel.E2M1)},
	{"Weights.Blocks.IQ4.Widen", blockWidenCases(ukernel.IQ4)},
	{"Weights.Blocks.U4x32.Gemm", blockCases(ukernel.U4x32)},
	{"Weights.Blocks.U4x16.Unpack", blockUnpackCases(ukernel.U4x16)},
	{"Weights.Blocks.U5x32.Unpack", blockUnpackCases(ukernel.U5x32)},
	{"Weights.Blocks.U5x16.Unpack", blockUnpackCases(ukernel.U5x16)},
	{"Weights.Blocks.S6x16.Unpack", blockUnpackCases(ukernel.S6x16)},
	{"Weights.GemmUnpacked", unpackedCases},
	{"Weights.Blocks.U4x32.Widen", blockWidenCases(ukernel.U4x32)},
	{"Weights.Blocks.U4x16.Widen", blockWidenCases(ukernel.U4x16)},
	{"Weights.Blocks.U5x32.Widen", blockWidenCases(ukernel.U5x32)},
	{"Weights.Blocks.U5x16.Widen", blockWidenCases(ukernel.U5x16)},
	{"Weights.Blocks.S6x16.Widen", blockWidenCases(ukernel.S6x16)},
	{"Weights.Blocks.S5x16F32.Unpack", blockUnpackCases(ukernel.S5x16F32)},
	{"Weights.Blocks.S5x16F32.Widen", blockWidenCases(ukernel.S5x16F32)},
	{"Weights.Blocks.S5x16F32.GemmInt8", int8Cases(ukernel.S5x16F32)},
	{"Weights.Blocks.S8x16F32.Unpack", blockUnpackCases(ukernel.S8x16F32)},
	{"Weights.Blocks.S8x16F32.Widen", blockWidenCases(ukernel.S8x16F32)},
	{"Weights.Blocks.S8x16F32.GemmInt8", int8Cases(ukernel.S8x16F32)},
	{"Weights.Blocks.U4x32.GemmInt8", int8Cases(ukernel.U4x32)},
	{"Weights.Blocks.U4x16.GemmInt8", int8Cases(ukernel.U4x16)},
	{"Weights.Blocks.U5x32.GemmInt8", int8Cases(ukernel.U5x32)},
	{"Weights.Blocks.U5x16.GemmInt8", int8Cases(ukernel.U5x16)},
	{"Weights.Blocks.S6x16.GemmInt8", int8Cases(ukernel.S6x16)},
	{"Weights.Blocks.S8.GemmInt8", int8Cases(ukernel.S8)},
	{"Weights.Blocks.S4.GemmInt8", int8Cases(ukernel.S4)},
	{"Weights.Blocks.U4.GemmInt8", int8Cases(ukernel.U4)},
	{"Weights.Blocks.E2M1.GemmInt8", int8Cases(ukernel.E2M1)},
	{"Weights.Blocks.IQ4.GemmInt8", int8Cases(ukernel.IQ4)},
	{"Weights.Quantize", rowQuantizeCases},
	{"Weights.AddBias", addBiasCases},
	{"Weights.Pack", weightPackCases(packedFloats)},
	{"Convert.PackHalves", weightPackCases(packedHalves)},
	{"Norms.RMSNorm", normCases(false)},
	{"Norms.LayerNorm", normCases(true)},
	{"Norms.Means", meansCases},
	{"Elementwise.Add", addCases},
	{"Elementwise.Mul", rowCases("Mul")},
	{"Elementwise.Scale", rowCases("Scale")},
	{"Elementwise.RotatePairs", rowCases("RotatePairs")},
	{"Activations.TanhBackward", rowCases("TanhBackward")},
	{"Activations.SigmoidBackward", rowCases("SigmoidBackward")},
	{"Elementwise.AddRows", addRowsCases},
	{"Elementwise.Hadamard", hadamardCases},
	{"Activations.SiLU", activationCases(siluOf)},
	{"Activations.GELU", activationCases(geluOf)},
	{"Activations.GELUTanh", activationCases(geluTanhOf)},
	{"Activations.SwiGLU", gatedCases(swigluOf)},
	{"Activations.GeGLU", gatedCases(gegluOf)},
	{"Activations.GeGLUTanh", gatedCases(gegluTanhOf)},
	{"Activations.GRU", gruCases(false)},
	{"Activations.GRUBackward", gruCases(true)},
	{"Activations.SiLUBackward", slopeCases(siluSlopeField)},
	{"Activations.GELUBackward", slopeCases(geluSlopeField)},
	{"Activations.GELUTanhBackward", slopeCases(geluTanhSlopeField)},
	{"Rows.Largest", rowCases("Largest")},
	{"Rows.Sums", rowCases("Sums")},
	{"Rows.Dots", rowCases("Dots")},
	{"Rows.DotsWith", rowCases("DotsWith")},
	{"Rows.AddScaled", rowCases("AddScaled")},
	{"Rows.Powers", rowCases("Powers")},
	{"Rows.Quotients", rowCases("Quotients")},
	{"Rows.SoftmaxGradients", rowCases("SoftmaxGradients")},
	{"Rows.Squares", rowCases("Squares")},
	{"Rows.NormTerms", rowCases("NormTerms")},
	{"Rows.NormGradients", rowCases("NormGradients")},
	{"Gradients.BackwardWeights", backwardWeightsCases},
	{"Gradients.BackwardScores", backwardScoresCases},
	{"Gradients.BackwardSoftcap", backwardSoftcapCases},
}

// TestAllKernels fails if a kernel is in no test, or if a tier lacks one that it must have. Only
// the skinny kernels for narrow types, those for integers, for few rows and grouped weights, and
// for units of tiles are optional.
func TestAllKernels(t *testing.T) {
	tested := map[string]bool{}
	for _, k := range kernelTests {
		tested[k.name] = true
	}
	names := ref.kernels()
	if len(names) != len(tested) {
		t.Errorf("%d kernels, %d of them in tests", len(names), len(tested))
	}
	for name := range names {
		if !tested[name] {
			t.Errorf("no test of %s", name)
		}
		optional := strings.HasPrefix(name, "Skinny.QK") || strings.HasPrefix(name, "Skinny.PV") || strings.HasPrefix(name, "Skinny.Halves")
		optional = optional && name != "Skinny.QK" && name != "Skinny.PV" || name == "Skinny.Pairs" || name == "Skinny.GroupPairs" || strings.HasPrefix(name, "Code")
		optional = optional || strings.HasPrefix(name, "Weights.") && strings.HasSuffix(name, "Unpack") || name == "Weights.GemmUnpacked" || name == "Weights.Blocks.U4x32.Gemm" || strings.HasPrefix(name, "Unit.")
		for i := range Tiers {
			for x := range Tiers[i].Widths {
				if !optional && !Tiers[i].set(x).has(name) {
					t.Errorf("tier %s: tile %d: no %s", Tiers[i].Name, x, name)
				}
			}
		}
	}
}

// A kernelCase describes one call of a micro-kernel.
type kernelCase interface {
	String() string

	// call makes the arguments for a tile of w lanes, all slices in a and all values
	// from r, and returns the call.
	call(a *testutil.Arena, r *testutil.Rand, w int) func(p *kernelSet)
}

// TestKernels compares every micro-kernel of every tier and width with package fallback, bit for
// bit. Slices start anywhere; canaries lie around them and between their rows. Where TestGuard
// makes all calls between guard pages, one in 7 is left here.
func TestKernels(t *testing.T) {
	one := every
	if testutil.Guards && !testutil.Thin() {
		one = 7
	}
	testKernels(t, one, newArena())
}

// TestGuard makes the calls of TestKernels with every slice right after an
// inaccessible page, and with every slice right before one. No slice reaches beyond
// the last element that the call names. So to read or write a single byte beside it
// is an error, be it to fill up a vector or the gap after a last row.
func TestGuard(t *testing.T) {
	if !testutil.Guards {
		t.Log("guard pages are not available here: this is TestKernels again, on plain slices")
	}
	testKernels(t, every, newGuardedArena(t, testutil.AtStart), newGuardedArena(t, testutil.AtEnd))
}

// testKernels tests all kernels by one call in so many on slices in each of mems, and skips what a
// tier does not have.
func testKernels(t *testing.T, one int, mems ...*testutil.Arena) {
	for _, k := range kernelTests {
		t.Run("kernel="+k.name, func(t *testing.T) {
			eachSet(t, k.name, func(t *testing.T, p *kernelSet) {
				if err := checkKernel(p, k.name, one, mems...); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// eachSet runs a test of a kernel on every tier that runs here, with each of its
// tiles if the kernel works on tiles.
func eachSet(t *testing.T, kernel string, test func(t *testing.T, p *kernelSet)) {
	for i := range Tiers {
		tier := &Tiers[i]
		if tier.Lacks() != "" {
			continue
		}
		t.Run("tier="+tier.Name, func(t *testing.T) {
			switch {
			case !tier.set(0).has(kernel):
				t.Skipf("tier %s has no %s", tier.Name, kernel)
			case !onTiles(kernel):
				eachVariant(t, tier, len(tier.Widths)-1, kernel, test)
				return
			}
			for x, lanes := range tier.Widths {
				t.Run(fmt.Sprintf("lanes=%d", lanes), func(t *testing.T) { eachVariant(t, tier, x, kernel, test) })
			}
		})
	}
}

// eachVariant runs a test of a kernel on a tile with each variant of it. If tests are thinned, each
// tile has one variant.
func eachVariant(t *testing.T, tier *Tier, tile int, kernel string, test func(t *testing.T, p *kernelSet)) {
	variants := tier.variantsOf(kernel)
	for number, v := range variants {
		if !testutil.Thin() || len(variants) > len(tier.Widths) || tile%len(variants) == number {
			t.Run("variant="+v.Variant, func(t *testing.T) { test(t, v.tier.set(tile)) })
		}
	}
	if variants == nil {
		test(t, tier.set(tile))
	}
}

// A tierVariant is a tier that was tuned to a variant of a kernel.
type tierVariant struct {
	Variant string
	tier    *Tier
}

// variantsOf returns the tier with each of its variants of a kernel, nil if there is one kernel.
func (t *Tier) variantsOf(kernel string) (list []tierVariant) {
	kind := map[string]string{"Skinny.QK": "QK=", "Skinny.PV": "PV=", "Weights.Gemm": "Weight=", "Weights.GemmF16": "Weight=", "Weights.GemmBF16": "Weight=", "Weights.GemmPairs": "Weight="}[kernel]
	if strings.HasPrefix(kernel, "Weights.Blocks.") && (strings.HasSuffix(kernel, ".Gemm") || strings.HasSuffix(kernel, ".GemmInt8")) {
		kind = "Block="
	}
	for _, v := range t.Variants {
		if kind != "" && strings.HasPrefix(v, kind) {
			x := t.Copy()
			x.Choose(v)
			list = append(list, tierVariant{v, x})
		}
	}
	return list
}

// onTiles reports whether a kernel works on query tiles, so that it matters how wide
// they are.
func onTiles(kernel string) bool {
	return !strings.Contains(kernel, ".") || strings.HasPrefix(kernel, "Skinny.") || strings.HasPrefix(kernel, "Gradients.Backward")
}

// eachTier calls f for every tier that runs here.
func eachTier(f func(t *Tier)) {
	for i := range Tiers {
		if Tiers[i].Lacks() == "" {
			f(&Tiers[i])
		}
	}
}

// eachTile calls f for every query tile of every tier that runs here.
func eachTile(f func(t *Tier, p *kernelSet)) {
	eachTier(func(t *Tier) {
		for i := range t.Widths {
			f(t, t.set(i))
		}
	})
}

// reference returns the kernels of package fallback for tiles of w lanes. The products
// are those that are written straight from the definition.
func reference(w int) *kernelSet {
	r := *ref
	r.Lanes, r.LaneKernels, r.Skinny, r.Weights = w, referenceTiles(r.LaneKernels), referenceSkinny(w), referenceWeights
	r.Unit, r.Convert.PackHalves = referenceUnit(ref.Unit), transpose[uint16]
	r.Products = ukernel.Products{
		Gemm: func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k, seg int, load bool) {
			testutil.Gemm(w, c, ldc, a, rs, cs, b, ldb, m, k, seg, load)
		},
		GemmMax: func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k, seg int, max []float32) {
			testutil.GemmMax(w, c, ldc, a, rs, cs, b, ldb, m, k, seg, max)
		},
		GemmEvenOdd: func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k int, load bool) {
			testutil.GemmEvenOdd(w, c, ldc, a, rs, cs, b, ldb, m, k, load)
		},
		GemmMerge: func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k int, alpha, beta []float32) {
			testutil.GemmMerge(w, c, ldc, a, rs, cs, b, ldb, m, k, alpha, beta)
		},
	}
	return &r
}

const (
	regionSize  = 96 << 10 // the largest slice, 256 rows of 64+5 floats, and margins
	regionCount = 9        // the most slices that a kernel has
	blockKeys   = 256      // keys of a block
)

// newArena returns an arena of ordinary memory for the slices of any call.
func newArena() *testutil.Arena {
	return testutil.NewArena(testutil.Inside, regionCount, regionSize)
}

// newGuardedArena returns an arena whose regions lie between guard pages.
func newGuardedArena(t testing.TB, p testutil.Placement) *testutil.Arena {
	return testutil.NewGuardedArena(t, p, regionCount, regionSize)
}

// sampling returns the distance between the floats that a test tries: 1 for all of them, and
// otherwise usual, or thin where tests are thinned.
func sampling(all bool, usual, thin uint64) uint64 {
	switch {
	case all:
		return 1
	case testutil.Thin():
		return thin
	}
	return usual
}

// upTo returns 0..n and then more.
func upTo(n int, more ...int) (list []int) {
	for i := range n + 1 {
		list = append(list, i)
	}
	return append(list, more...)
}
