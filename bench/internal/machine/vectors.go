package machine

import (
	"github.com/attn-go/attn/asm"
	"github.com/attn-go/attn/kernel"
)

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
