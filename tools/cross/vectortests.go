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

	// TestGuard makes the calls of TestKernels. The pattern has the kernels that gen/rvv has, but for products of
	// float16, Q8_0 and Q4_0, which take 5 s each: they are that of Q4_1 with the widening of other kernels here.
	{
		path: "internal/tier",
		must: []string{"TestGuard", "TestAllKernels", "TestChoose", "TestOff"},
		run:  "TestGuard$/kernel=(Gemm|GemmMax|GemmMerge|Softmax|MergeStats|MaskSpan|Skinny.(QK|PV)|Convert.Widen.*16|Convert.WidenInt8|Elementwise.Add|Weights.(Gemm|GemmBF16|AddBias|Blocks.(Q4_1.Gemm|Q.*.Widen)))$/tier=rvv|TestAllKernels|TestChoose|TestOff",
	},
}
