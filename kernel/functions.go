package kernel

import "github.com/attn-go/attn/fallback"

// FMA returns x·y + z, rounded once. x and y must not both be constants: a compiler
// multiplies constants itself, and rounds.
func FMA(x, y, z float32) float32 { return fallback.FMA(x, y, z) }

// Exp2 returns 2^x to the bit as the contract's exp2, within 0.80 ulp: exactly 0 below
// -126, where float32 has no more normal numbers, +Inf from 128 on, NaN for NaN.
func Exp2(x float32) float32 { return fallback.Exp2(x) }

// Tanh returns the hyperbolic tangent of x to the bit as the contract's tanh, within
// 1.85 ulp: odd, ±1 from ±9.0110 on, NaN for NaN.
func Tanh(x float32) float32 { return fallback.Tanh(x) }

// Log2 returns the binary logarithm of x to the bit as the contract's log2, within
// 1.66 ulp, around 1 too: -Inf for ±0, +Inf for +Inf, NaN for NaN and below 0.
func Log2(x float32) float32 { return fallback.Log2(x) }
