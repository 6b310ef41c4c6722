package contracttest

import (
	"flag"
	"fmt"

	"github.com/attn-go/attn/fallback"
	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/ukernel"
)

var three = flag.Bool("three", false, "run the tests on a tier of three assembly kernels, and on generic alone")

// UseThree makes a tier of three kernels in assembly the default one if the flag -three is set:
// Gemm, GemmMax and Softmax. All others are the reference. A new instruction set begins like that.
// It is for TestMain, and parses the flags.
func UseThree() {
	flag.Parse()
	if !*three {
		return
	}
	for i := range tier.Tiers {
		t := tier.Tiers[len(tier.Tiers)-1-i].Copy()
		if len(t.ISAs) == 0 || t.Lacks() != "" {
			continue
		}
		fmt.Printf("attn: tier three has Gemm, GemmMax and Softmax of %s, for tiles of %d lanes\n", t.Name, t.Widths[1])
		t.Name, t.Widths, t.MainLanes, t.Amend = "three", t.Widths[1:2], t.Widths[1], keepThree
		tier.Tiers = []tier.Tier{*t, *tier.Reference()}
		tier.Default = func() (*tier.Tier, *check.Failure) { return &tier.Tiers[0], nil }
		return
	}
	fmt.Println("NOT RUN: a tier of three kernels, because there is no assembly for this CPU")
}

// keepThree replaces all kernels of a table but three by the reference's.
func keepThree(table any, lanes int) {
	switch k := table.(type) {
	case *ukernel.Products:
		k.GemmMerge = fallback.Products(lanes).GemmMerge
	case *ukernel.LaneKernels:
		softmax := k.Softmax
		*k = fallback.Lanes()
		k.Softmax = softmax
	case *ukernel.Gradients:
		*k = fallback.Gradients()
	case *ukernel.SkinnyKernels:
		*k = fallback.Skinny()
	case *ukernel.Converters:
		*k = fallback.Convert()
	case *ukernel.WeightKernels:
		*k = fallback.Weights()
	case *ukernel.Elementwise:
		*k = fallback.Elementwise()
	case *ukernel.Norms:
		*k = fallback.Norms()
	case *ukernel.Unit:
		*k = fallback.Unit()
	case *ukernel.Rows:
		*k = fallback.Rows()
	case *ukernel.Activations:
		*k = fallback.Activations()
	default:
		panic(fmt.Sprintf("contracttest: no reference of %T", table))
	}
}
