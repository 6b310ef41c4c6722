package main

import "slices"

// goldenTests are the tests for architectures of which others have all that matters to this code:
// the tier, the length of an int, the byte order, and an fma in one instruction or none. They show
// that Go's compiler for such an architecture keeps the bits of everything that computes: the
// contract's test vectors, which have all of its functions, and the goldens of package kernel,
// which have all options. The goldens of other packages are of functions with vectors. They run
// where all tests run.
//
//	64 bits, little-endian, fma        riscv64, loong64, ppc64le    like arm64
//	64 bits, big-endian, fma           ppc64                        like s390x
//	64 bits, little-endian, no fma     mips64le, wasm               like Nehalem
//	32 bits, little-endian, no fma     mipsle, arm                  like 386
//	32 bits, big-endian, no fma        mips                         like 386, and s390x
var goldenTests = []testedPackage{
	{path: "internal/scalar", must: "TestFMASpecial TestFMAHiddenTies TestFMAOperands TestExp2Definition TestNarrow", run: "TestFMA|TestExp2Definition|TestNarrow"},
	{path: "contract", must: "TestVectors TestVectorFiles", run: "TestVectors$|TestVectorFiles$"},
	{path: "kernel", must: "TestGolden", run: "TestGolden$", skip: "TestGolden/backward-plain"}, // which is backward, for whole vectors
	{path: "kvcache", must: "TestBatchesAndChunks", run: "TestBatchesAndChunks"},
	{path: "linear", must: "TestApply TestProduct TestBackwardGolden", run: "TestApply$|TestProduct$|TestBackwardGolden"},
}

// receiptTests are goldenTests, and receipts that were made on another architecture.
var receiptTests = append(slices.Clone(goldenTests),
	testedPackage{path: "models/receipt", must: "TestCommitted TestCommittedTexts TestCommittedSession", run: "TestCommitted"})

// dotTests are the kernels that the CPU's dot products of int8 are for, products of weights, and
// what calls them. Cortex-a57 runs all others, and all other tests.
var dotTests = append(slices.DeleteFunc(slices.Clone(goldenTests), func(p testedPackage) bool { return p.path == "kernel" || p.path == "kvcache" }),
	testedPackage{path: "internal/tier", must: "TestGuard TestAllKernels TestChoose", run: "TestGuard$/kernel=Weights/tier=neon|TestAllKernels|TestChoose"})
