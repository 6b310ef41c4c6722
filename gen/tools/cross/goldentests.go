package main

// goldenTests are the tests for architectures of which others have all that matters to this code: the tier, the
// length of an int, the byte order, and an fma in one instruction or none. They show that Go's compiler for such an
// architecture keeps the bits of everything that computes: the goldens and the test vectors of the contract.
//
//	64 bits, little-endian, fma        loong64, ppc64le    like riscv64 and arm64
//	64 bits, big-endian, fma           ppc64               like s390x
//	64 bits, little-endian, no fma     mips64le            like Nehalem and wasm
//	32 bits, little-endian, no fma     mipsle              like 386 and arm
var goldenTests = []testedPackage{
	{path: "internal/scalar", must: "TestFMASpecial TestFMAHiddenTies TestFMAOperands TestExp2Definition TestNarrow", run: "TestFMA|TestExp2Definition|TestNarrow"},
	{path: "fallback", must: "TestMergeStats TestGemm", run: "TestMergeStats|TestGemm"},
	{path: "kernel", must: "TestContract TestGolden", run: "TestContract$|TestGolden$"},
	{path: "kvcache", must: "TestBatchesAndChunks", run: "TestBatchesAndChunks"},
	{path: "linear", must: "TestApply TestProduct TestBackwardGolden", run: "TestApply$|TestProduct$|TestBackwardGolden"},
	{path: "norm", must: "TestContract TestGolden TestNaN TestBackwardGolden", run: "TestContract$|Golden$|TestNaN$"},
	{path: "rope", must: "TestGolden TestCosSin", run: "TestGolden$|TestCosSin$"},
	{path: "activation", must: "TestGolden TestSlopesGolden", run: "Golden$"},
	{path: "loss", must: "TestContract TestGolden", run: "TestContract$|TestGolden$"},
	{path: "optimize", must: "TestStep TestGolden TestClip", run: "TestStep$|TestGolden$|TestClip$"},
	{path: "numeric", must: "TestSliceFunctions TestSixteenBitsStay TestQuantizeInt8", run: "TestSliceFunctions|TestSixteenBitsStay|TestQuantizeInt8"},
}
