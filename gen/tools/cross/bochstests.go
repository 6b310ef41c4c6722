package main

// bochsTests are the tests for the machine under Bochs, in the order in which they run. They
// show that the kernels of tier avx512, with VNNI, compute the contract's bits and touch nothing
// outside of their slices. For CPUs without VNNI there are others, which TestFeatures tests. What
// does not depend on the tier is left to the other platforms, and so are, where a test takes long,
// the other tiers.
//
// VCVTPS2PH, which narrows to float16, rounds a number halfway between two others to the even
// one. Bochs 2.7 takes the larger one. That is why Convert.Narrow.float16 and the golden case range
// are left out: they fail, with avx2 as well.
//
// Products take more than half of the time. So without -deep there is one call of them in two, which
// finds all mutants of products in TestMutants. One in three does not.
var bochsTests = []testedPackage{
	// Its tests say how the reference computes an fma, which each platform checks.
	{path: "internal/scalar", must: "TestFMASpecial TestFMAHiddenTies", run: "TestFMA(Special|HiddenTies)"},
	{path: "fallback", must: "TestGemm", run: "TestGemm"},
	{path: "activation", must: "TestActivations TestGated", run: "TestActivations|TestGated$"},
	{path: "numeric", must: "TestSliceFunctions TestSixteenBitsStay", run: "TestSliceFunctions|TestSixteenBitsStay"},
	{path: "kvcache", must: "TestBatchesAndChunks", run: "TestBatchesAndChunks"},
	{path: "linear", must: "TestApply", run: "TestApply$"},
	{path: "linear", must: "TestProduct TestBackwardGolden", run: "(TestProduct|TestBackwardGolden)$/tier=avx512"},
	{path: "kernel", must: "TestAdditiveBackward", run: "TestAdditiveBackward$/tier=avx512"},
	{path: "models/gobytes", must: "TestTrainedWeights", run: "TestTrainedWeights$/tier=avx512"},
	{path: "kernel", must: "TestContract TestGolden TestTunings", run: "TestContract$|TestGolden$/./tier=avx512|TestTunings/tier=avx512", skip: "TestGolden/range"},

	// TestGuard compares the same calls with package fallback as TestKernels, and looks for
	// accesses outside of the slices as well.
	{path: "internal/tier", must: "TestGuard TestFeatures/tier=avx512/feature=AVX512VNNI TestAllKernels TestExp2 TestFunctions TestActivations TestWidenAll", run: "TestGuard$/kernel=([^GWS]|S[^k]|Gradients|Weights.(AddBias|Pack|Quantize|Blocks.*Widen)|Skinny.[SMUHA])/tier=avx512|TestFeatures/tier=avx512/feature=AVX512VNNI|TestAllKernels|TestExp2$|TestFunctions|TestActivations|TestWidenAll", skip: "TestGuard/kernel=Convert.Narrow.float16"},
	{path: "internal/tier", must: "TestGuard", run: "TestGuard$/kernel=(Gemm|Weights.(Gemm|Blocks.*Gemm))/tier=avx512", oneOf: 2},
	{path: "internal/tier", must: "TestGuard", run: "TestGuard$/kernel=Skinny.(QK|P)/tier=avx512", oneOf: 2},
}

// nativeBochsTests are the tests under Bochs on a machine with AVX-512 and VNNI, which runs the
// rest natively: the goldens, and some calls of each kernel.
var nativeBochsTests = []testedPackage{
	bochsTests[0],
	{path: "kernel", must: "TestGolden", run: "TestGolden$/./tier=avx512", skip: "TestGolden/range"},
	{path: "internal/tier", must: "TestGuard TestFeatures/tier=avx512/feature=AVX512VNNI TestAllKernels", run: "TestGuard$/./tier=avx512|TestFeatures/tier=avx512/feature=AVX512VNNI|TestAllKernels", skip: "TestGuard/kernel=Convert.Narrow.float16"},
}
