// Package kernel computes attention on CPUs,
//
//	out = softmax(q·kᵀ·scale, masked)·v
//
// in assembly for AVX-512, AVX2, NEON and RISC-V vectors, and in Go on every other CPU. The CPU is
// examined when the program starts. The bits of a result are the same on all of them.
//
// [Attention] is the call. A [Tensor] describes the caller's memory, [Options] are the
// settings of a call, and a [Mask] hides keys from queries. A call in which each query sees the
// keys up to its own, for slices of batch·heads·length·size numbers in this order:
//
//	view := func(x []float32) kernel.Tensor { return kernel.BHLD(x, batch, heads, length, size) }
//	causal := &kernel.Options{Scoring: kernel.Scoring{Mask: kernel.Causal(0)}}
//	err := kernel.Attention(view(out), view(q), view(k), view(v), causal)
//
// The numeric contract, which defines the bits of every result, is the documentation of package
// contract: go doc github.com/attn-go/attn/contract.
//
// # Tasks
//
// Models and caches:
//
//   - a prompt of a decoder: [Attention] with [Causal]
//   - an encoder, such as one for sentence embeddings: [Attention], [KeyLengths]
//   - decoding with a cache: package kvcache, which has pages, forks and batches
//   - my own cache: [Strided] for rows in a larger slice, [Tensor.Paged] and
//     [PageTable] for pages, Options.QueryStart for the tokens that are there already
//   - grouped-query and multi-query attention: k and v with fewer heads than q
//   - cross-attention: k and v of another length than q
//   - multi-head modules, other similarities, the steps one by one: package layer
//   - additive (Bahdanau) attention: [Additive], and package layer with projections
//   - rotary positions: package rope; linear layers: package linear; SiLU, GELU and their
//     gated forms: package activation
//
// Memory and element types:
//
//   - layouts: [BHLD], [BLHD], [Strided], and [PackedQKV] for a joint projection
//   - packed sequences: [Ragged], [Tensor.Ragged]; several documents in one sequence:
//     [Segments]
//   - large tensors in huge pages: [Alloc]
//   - half precision: [F16], [BF16]; package numeric converts
//   - keys and values of 8 and 4 bits: int8 or [Int4x2] with [Tensor.Scaled]; package numeric
//     quantizes
//   - keys and values as floats of 8 bits (fp8): [F8E4M3], [F8E5M2]; package numeric converts
//   - functions of my own on tensors: [Row], [Tensor.Length] and [Tensor.Scales] find the
//     rows, [Tensor.Check] and [Tensor.CheckOutput] check arguments
//
// Masks; [Mask.And] intersects them, [Mask.Or] unites them:
//
//   - padding at the end: [KeyLengths], [QueryLengths]; padding anywhere: [Hidden]
//   - sliding window: [Window]; chunks: [Chunked]; prefix and causal: [PrefixLM]
//   - a window together with attention sinks or global tokens: [Mask.Or], [KeyRange], [QueryRange]
//   - a tree of drafted tokens: Options.Parents, with positions and the bits of token by token;
//     [VisibleLast]
//   - lists of keys for each query, as an indexer chooses them: Options.KeyRows
//   - block-sparse: [BlockSparse]; any pattern of bools: [Visible], [Hidden]
//
// Scores and further outputs:
//
//   - biases: Options.Bias, Options.ALiBi; caps: Options.Softcap
//   - sinks: Options.Sinks; dropout: Options.Dropout
//   - my own function of the scores: Options.Score, [ScoreTile]
//   - weights and scores out: Options.Weights, Options.Scores; log-sum-exp: Options.LSE
//
// Execution:
//
//   - partials over threads, processes or machines: [AttentionPartials],
//     [MergePartials]; handed on from machine to machine: [MergeInto]
//   - keys that come chunk by chunk and are not kept: [AccumulatePartials]
//   - which tiers run: [Tiers]; another tier, [TierNamed]; fewer threads, my own parallel-for:
//     [Exec], which is part of Options; my own loops on the same threads: [Exec.Split]
//   - how long workers spin after a call: [SetSpin]; scratch memory: [ReleaseMemory]
//   - what was wrong with a call: [Error]; panics: [TaskPanic]
//   - the same bits from my own code: packages contract and numeric, [Contract]
//
// # Tiers
//
// A tier is one implementation: avx512, avx2, neon, rvv or generic. The default is the best
// tier that the CPU can run. The environment variable ATTN_TIER names another default,
// and Options.Tier is the tier of one call, which [TierNamed] returns. A tier that does not exist
// or cannot run is an [*Error]: no other tier takes over silently. The build tag
// purego leaves out all assembly.
//
// ATTN_FEATURES switches CPU features off, for measurements and to rule a kernel out: with
// "avx512vnni=off,avx512f=off" no kernel uses them. The names are klauspost/cpuid's; on RISC-V
// there is V alone. attn.Report says what is off, and why a value is ignored.
//
// Numbers such as the width of a tile or the distance of prefetches are chosen by the CPU's
// family and model, or by its features where these contradict the model, as in virtual machines
// that report another one. The environment variable ATTN_TUNING changes them, for measurements, and
// so does [Tier.Tuned], which describes them.
package kernel
