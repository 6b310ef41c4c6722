package tuning_test

import (
	"fmt"
	"strings"

	"github.com/attn-go/attn/tuning"
)

// All numbers of a tier. Here are the first two.
func ExampleNumbers() {
	all, err := tuning.Numbers("generic")
	fmt.Println(strings.Split(all, ",")[:2], err)

	// Output: [MainLanes=8 SkinnyRows=16] <nil>
}

// A number is changed for a measurement, and set back.
func ExampleSet() {
	before, err := tuning.Numbers("generic")
	fmt.Println(err, tuning.Set("generic", "SkinnyRows=8"))
	now, err := tuning.Numbers("generic")
	fmt.Println(strings.Contains(now, "SkinnyRows=8"), err)
	fmt.Println(tuning.Set("generic", before))

	// Output:
	// <nil> <nil>
	// true <nil>
	// <nil>
}

// Without a bad value of ATTN_TUNING nothing is ignored.
func ExampleIgnored() {
	fmt.Println(tuning.Ignored("generic"))

	// Output:  <nil>
}

// The widths of a tile that the tier has kernels for.
func ExampleChoices() {
	fmt.Println(tuning.Choices("generic", "MainLanes"))

	// Output: [8] <nil>
}

// What runs in Go on the tier that is nothing else: all of it.
func ExampleKernels() {
	kernels, err := tuning.Kernels("generic")
	inGo, none := 0, 0
	for _, k := range kernels {
		switch k.Origin {
		case "Go":
			inGo++
		case "none": // the tier does without
			none++
		}
	}
	fmt.Println(inGo > none, inGo+none == len(kernels), err)

	// Output: true true <nil>
}

// The name by which the table knows this CPU.
func ExampleCPU() {
	fmt.Println(tuning.CPU() != "")

	// Output: true
}
