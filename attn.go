// Package attn is the front page of a library that computes attention on CPUs, without cgo:
//
//	out = softmax(q·kᵀ·scale, masked)·v
//
// It holds two promises. The bits of a result are the same on every CPU, on every tier, for
// every number of threads and every batch. And a call runs near the limit of the machine.
//
// This package computes nothing. [Report] says what the library does on this machine. The
// packages that compute are these:
//
//   - [github.com/attn-go/attn/kernel]: attention on the caller's memory, and its gradients. Begin
//     here.
//   - [github.com/attn-go/attn/kvcache]: keys and values of many sequences in pages
//   - [github.com/attn-go/attn/recurrent] and [github.com/attn-go/attn/retrieval]: layers that
//     carry a state, scores of passages
//   - [github.com/attn-go/attn/layer]: attention in steps, similarities, the multi-head module
//   - [github.com/attn-go/attn/linear]: linear layers, also with weights of 8 and 4 bits
//   - [github.com/attn-go/attn/norm]: RMSNorm and LayerNorm
//   - [github.com/attn-go/attn/rope]: rotary positions
//   - [github.com/attn-go/attn/activation]: activation functions
//   - [github.com/attn-go/attn/numeric]: conversions, quantization, the contract's functions
//   - [github.com/attn-go/attn/loss] and [github.com/attn-go/attn/optimize]: training
//   - [github.com/attn-go/attn/contract]: the text that defines every bit of a result
//
// Whole models are in a module of their own, github.com/attn-go/attn/models.
package attn

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/kernel"
)

// Contract is the version of the numeric contract. Two builds with the same number return
// the same bits.
const Contract = kernel.Contract

// Report says in a few lines of text what the library does on this machine: the version of
// the contract, the platform, the CPU by the name that tuning numbers have for it with the rule
// that told it, the largest number of threads of a call, and each tier of this build, best first,
// with the reason why it cannot run; whether kernels use the tiles of AMX, or why not; also
// features that ATTN_FEATURES switches off, and values of that variable, ATTN_SPIN and ATTN_TUNING
// that are ignored, see package kernel, [kernel.SetSpin] and [kernel.Tier.Tuned]. The text is for
// people, and for reports of bugs: its form may change.
func Report() string {
	var b strings.Builder
	fmt.Fprintf(&b, "contract %d\n", Contract)
	fmt.Fprintf(&b, "platform %s/%s, %s\n", runtime.GOOS, runtime.GOARCH, runtime.Version())
	cpu := tier.HostCPU()
	fmt.Fprintf(&b, "CPU      %s, %s\n", cpu.Name, cpu.Rule)
	fmt.Fprintf(&b, "threads  %d\n", runtime.GOMAXPROCS(0))
	if parallel.IgnoredSpin != "" {
		fmt.Fprintf(&b, "ignored  ATTN_SPIN=%q, want \"off\" or a duration such as \"50us\"\n", parallel.IgnoredSpin)
	}
	if len(tier.Off) > 0 {
		fmt.Fprintf(&b, "off      %s, by ATTN_FEATURES\n", strings.Join(tier.Off, ", "))
	}
	if tier.BadFeatures != "" {
		fmt.Fprintf(&b, "ignored  ATTN_FEATURES: %s\n", tier.BadFeatures)
	}
	for _, t := range tier.Tiers {
		if t.Mistuned != "" && t.Lacks() == "" {
			fmt.Fprintf(&b, "ignored  ATTN_TUNING for %s: %s\n", t.Name, t.Mistuned)
		}
	}
	if unit := tier.TileUnit(); unit != "" {
		fmt.Fprintf(&b, "tiles    %s\n", unit)
	}
	for i := range tier.Tiers {
		fmt.Fprintf(&b, "tier     %s\n", describe(&tier.Tiers[i]))
	}
	return b.String()
}

// describe returns the line of a report about a tier.
func describe(t *tier.Tier) string {
	if lacks := t.Lacks(); lacks != "" {
		return t.Name + ": " + lacks
	}
	if standard, _ := tier.Default(); t == standard {
		return t.Name + ": runs, the default"
	}
	return t.Name + ": runs"
}
