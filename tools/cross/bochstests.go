package main

// bochsTests are the tests for the machine under Bochs, in the order in which they run. They
// show that the kernels of tier avx512 compute the contract's bits and touch nothing outside
// of their slices. All that does not depend on the tier is left to the other platforms.
var bochsTests = []testedPackage{
	{
		path: "fallback",
		must: []string{"TestFMAHiddenTies", "TestGemm"},
		run:  "TestFMAHiddenTies|TestGemm",
	},
	{
		path: "numeric",
		must: []string{"TestSliceFunctions", "TestSixteenBitsStay"},
		run:  "TestSliceFunctions|TestSixteenBitsStay",
	},
}
