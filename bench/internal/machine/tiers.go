package machine

import (
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/kernel"
)

// Generic is the tier in plain Go. It runs everywhere; the results of the other tiers are
// compared with its results.
var Generic = kernel.Tier(tier.Tiers[len(tier.Tiers)-1].Handle())

// GenericFlops bounds the work of one call that Generic is timed on. Only on request it is
// timed on more, as that takes long.
const GenericFlops = 32e6
