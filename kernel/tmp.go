package kernel

import "github.com/attn-go/attn/fallback"

func FMA(x, y, z float32) float32 { return fallback.FMA(x, y, z) }
