package main

// vectorTests are the tests for RISC-V with vectors of a length. They show that the kernels in assembly of
// tier rvv compute the contract's bits, alone and together, and touch nothing outside of their slices.
// What runs in Go is that of the tier generic, which other platforms test.
var vectorTests = []testedPackage{
	// Its tests say how the reference computes an fma, which each platform checks.
	{
		path: "internal/scalar",
		must: []string{"TestFMASpecial", "TestFMAHiddenTies"},
		run:  "TestFMA(Special|HiddenTies)",
	},
	{
		path: "kernel",
		must: []string{"TestContract", "TestGolden"},
		run:  "TestContract$|TestGolden$/./tier=rvv",
	},

	// TestGuard makes the calls of TestKernels. The pattern has the kernels that gen/rvv has.
	{
		path: "internal/tier",
		must: []string{"TestGuard", "TestAllKernels", "TestChoose", "TestOff"},
		run:  "TestGuard$/kernel=(Gemm|GemmMax|GemmMerge|Softmax|MergeStats|MaskSpan|Skinny.(QK|PV)|Convert.Widen.*16|Convert.WidenInt8|Elementwise.Add|Weights.(Gemm|GemmF16|GemmBF16|AddBias|Blocks.Q.*.(Gemm|Widen)))$/tier=rvv|TestAllKernels|TestChoose|TestOff",
	},
}
