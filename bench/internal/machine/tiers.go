package machine

import (
	"github.com/attn-go/attn/asm"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/kernel"
)

// Generic is the tier in plain Go. It runs everywhere; the results of the other tiers are
// compared with its results.
var Generic = kernel.Tier(tier.Tiers[len(tier.Tiers)-1].Handle())

// GenericFlops bounds the work of one call that Generic is timed on. Only on request it is
// timed on more, as that takes long.
const GenericFlops = 32e6

// vectorProbe returns the FMA probe with a tier's vectors, nil if there is none.
func vectorProbe(tier kernel.Tier) *Probe {
	for _, m := range asm.Machine {
		if m.ISA == tier.String() && m.Kernels.Peak != nil {
			lanes := m.Lanes
			if lanes == 0 { // the CPU says how many
				lanes = m.Kernels.VectorLanes()
			}
			return &Probe{Name: tier.String(), run: m.Kernels.Peak, flops: float64(vectorFMAs * lanes * 2)}
		}
	}
	return nil
}

// vectorReader returns a function that reads with a tier's vectors, nil if there is none.
func vectorReader(tier kernel.Tier) func(p []float32) {
	for _, m := range asm.Machine {
		if m.ISA == tier.String() && m.Kernels.Read != nil {
			return m.Kernels.Read
		}
	}
	return nil
}
