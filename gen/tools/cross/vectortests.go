package main

// vectorTests are the tests for RISC-V with vectors of a length. They show that the kernels in
// assembly of tier rvv compute the contract's bits, alone and together, and touch nothing outside
// of their slices. What runs in Go is the tier generic, which other platforms test.
//
// Products with weights that are widened take seconds each. So do products of few rows with narrow
// keys and values, and models. Their code is the same for all lengths, so each length runs some of
// them: the kernels that the pattern products matches, and the packages in more. The lengths of
// boards, 128 and 256 bits, share all of them; 1024 is there with -deep.
func vectorTests(products string, more ...testedPackage) []testedPackage {
	return append([]testedPackage{
		// Its tests say how the reference computes an fma, which each platform checks.
		{path: "internal/scalar", must: "TestFMASpecial TestFMAHiddenTies", run: "TestFMA(Special|HiddenTies)"},
		{path: "kernel", must: "TestContract TestGolden", run: "TestContract$|TestGolden$/./tier=rvv"},

		// TestGuard makes the calls of TestKernels. Each kernel of gen/rvv is in the pattern of
		// some length.
		{path: "internal/tier", must: "TestGuard TestAllKernels TestChoose TestOff", asm: `^(Skinny\.(QK|PV)(F16|BF16|Int8)|Convert\..*Widen.*|Weights\.(Quantize|Blocks\..*\.(Widen|GemmInt8)))$`, run: "TestGuard$/kernel=(Gemm|GemmMax|GemmMerge|Softmax|SoftmaxBF16|ALiBi|MergeStats|MaskSpan|MaskBool|Bias|Dropout|Pack|Unpack|HeadScores|Round|ScaleRows|Softcap|Rows.*|Gradients.*|Skinny.(QK|PV|Softmax|Merge|Unpack|HeadValues|Additive|Halves.*)|Convert.*|Elementwise.*|Norms.*|Activations.*|Weights.(Gemm|AddBias|Pack|Quantize|Blocks.*.Widen)|" + products + ")$/tier=rvv|TestAllKernels|TestChoose|TestOff"},
	}, more...)
}

var (
	// miniLM needs the real weights, see make models. The model has linear layers of float32, GELU
	// and LayerNorm.
	miniLM = testedPackage{path: "models/encoder", run: "TestGolden$"}

	// smallDecoder has weights of each type, and RMSNorm and SwiGLU.
	smallDecoder = testedPackage{path: "models/decoder", must: "TestGolden", run: "TestGolden$"}
)
