package tier

import "slices"

// The CPUs that there are entries for, by families of the same core. AnyCPU is any other.
const (
	AnyCPU         = "any"
	Zen2           = "Zen 2"
	Zen3           = "Zen 3"
	Zen4           = "Zen 4"
	Zen5           = "Zen 5" // and later
	SkylakeX       = "Skylake-X to Ice Lake"
	SapphireRapids = "Sapphire Rapids" // Emerald and Granite Rapids, too
	AlderLake      = "Alder Lake"      // and later without AVX-512
	NeoverseN1     = "Neoverse N1"
	NeoverseV1     = "Neoverse V1"
	NeoverseV2     = "Neoverse V2"
	Apple          = "Apple"
)

// A TuningEntry is the tuning of a tier on a CPU.
type TuningEntry struct {
	CPU, Tier string
	Source    string // on what the numbers were measured, or what predicts them
	Tuning
}

// Tunings are all entries. Every tier has one for AnyCPU, which other CPUs get. Those of a tier
// begin with it. `go run ./bench -tune` prints the entry of the machine at hand.
var Tunings = []TuningEntry{
	{AnyCPU, "generic", "measured on Zen 4",
		Tuning{MainLanes: 8, SkinnyRows: 16, PrefetchBytes: 8 << 10, FarPrefetch: 1, ThreadFMAs: 1 << 15, WeightSteps: 128, QuantizedRows: 1, PairRows: 1 << 20}},

	{AnyCPU, "avx2", "those of Zen 4",
		Tuning{MainLanes: 16, SkinnyRows: 12, FullRows: 8, FullHalfRows: 8, QKSegments: 1, QKNear: 1, PVNear: 1, PrefetchBytes: 8 << 10, FarPrefetch: 1, ThreadFMAs: 2 << 20, WeightSteps: 128, QuantizedRows: 12, PairRows: 6}},
	{Zen2, "avx2", "those of Zen 3, whose FMA units are as wide",
		Tuning{MainLanes: 16, SkinnyRows: 12, FullRows: 8, QKSegments: 1, QKNear: 1, PVNear: 1, PrefetchBytes: 8 << 10, FarPrefetch: -1, ThreadFMAs: 2 << 20, WeightSteps: 128, QuantizedRows: 8, PairRows: 6}},
	{Zen3, "avx2", "measured by bench -tune: up to 12 rows skinny kernels lose 7-25% from L3 and gain 35-46% from memory; from 16 rows on they lose more than they gain; without far prefetches decoding takes 3-12% less from memory and 1-5% less from L2, and with second ones 3-13% less than without, for keys of 32 and 16 bits and up to 4 rows from memory; 16-bit keys of one block take 14-27% less with skinny kernels than in a full tile, but int8 up to 20% more if they are few; quantized weights take as long widened with 8 rows, and 8-10% less with 10 and 12; near prefetches 4 KB ahead and 256 weight steps make no difference",
		Tuning{MainLanes: 16, SkinnyRows: 12, FullRows: 8, QKSegments: 1, QKNear: 1, PVNear: 1, PrefetchBytes: 8 << 10, FarPrefetch: -1, ThreadFMAs: 2 << 20, WeightSteps: 128, QuantizedRows: 8, PairRows: 6}},
	{Zen4, "avx2", "measured: skinny kernels gain up to 6 rows from L2 and L3, and up to 12 lose 0-7% from L3, but gain from memory; tiles gain from 8 full rows on",
		Tuning{MainLanes: 16, SkinnyRows: 12, FullRows: 8, FullHalfRows: 8, QKSegments: 1, QKNear: 1, PVNear: 1, PrefetchBytes: 8 << 10, FarPrefetch: 1, ThreadFMAs: 2 << 20, WeightSteps: 128, QuantizedRows: 12, PairRows: 6}},
	{SapphireRapids, "avx2", "measured on Emerald Rapids by bench -tune: to widen 16-bit weights once takes 16% less for 16 rows and 26% less for 48, up to 8 rows about as much; quantized weights gain by that from 5 rows on, 17% for 12; other numbers of lanes, weight steps and bytes ahead make no difference or lose. The others are those of Zen 4",
		Tuning{MainLanes: 16, SkinnyRows: 12, FullRows: 8, FullHalfRows: 8, QKSegments: 1, QKNear: 1, PVNear: 1, PrefetchBytes: 8 << 10, FarPrefetch: 1, ThreadFMAs: 2 << 20, WeightSteps: 128, QuantizedRows: 4, WidenRows: 4, PairRows: 6}},
	{AlderLake, "avx2", "those of Sapphire Rapids, whose cores are the same but for AVX-512; gen/tools/mca.sh predicts that all tiles run at the peak of 2 FMAs a cycle. Not measured",
		Tuning{MainLanes: 16, SkinnyRows: 12, FullRows: 8, FullHalfRows: 8, QKSegments: 1, QKNear: 1, PVNear: 1, PrefetchBytes: 8 << 10, FarPrefetch: 1, ThreadFMAs: 2 << 20, WeightSteps: 128, QuantizedRows: 4, WidenRows: 4, PairRows: 6}},

	{AnyCPU, "avx512", "those of Zen 4, but only up to 4 rows take the tier below: with two 512-bit FMAs a cycle more would lose",
		Tuning{MainLanes: 64, SkinnyRows: 44, FullRows: 16, FullHalfRows: 16, QKSegments: 1, QKNear: 2, PVNear: 2, PrefetchBytes: 8 << 10, FarPrefetch: 1, ThreadFMAs: 2 << 20, WeightSteps: 384, QuantizedRows: 8, PairRows: 1 << 20, LowerRows: 4}},
	{Zen4, "avx512", "measured: skinny kernels gain up to 44 rows from L2 and L3, a fifth on average; tiles gain 5-8% for 16 and 32 full rows; near prefetches into level 2 take 5-10% less from memory, 32 keys at a time a fifth more from beyond L2; float32 rows times Q4_K and Q6_K from memory take 13-17% less with 1 row in avx2, which prefetches the next blocks, 35-41% less with 4, 15-22% less with 16 and 4-5% less with 64",
		Tuning{MainLanes: 64, SkinnyRows: 44, FullRows: 16, FullHalfRows: 16, QKSegments: 1, QKNear: 2, PVNear: 2, PrefetchBytes: 8 << 10, FarPrefetch: 1, ThreadFMAs: 2 << 20, WeightSteps: 384, QuantizedRows: 8, PairRows: 1 << 20, LowerRows: 64}},
	{Zen5, "avx512", "from a core of a server that was not at hand again: 32 lanes beat 64 by 1-4% in a prototype in C, as S of a block stays in L1; with 16 keys at a time, near prefetches into level 1 take 7% less from memory and 18% less from L3. Not measured: the second segment, for two 512-bit FMAs a cycle of latency 4, and LowerRows, which is 4 as on any CPU. The others are those of Zen 4",
		Tuning{MainLanes: 32, SkinnyRows: 44, FullRows: 16, FullHalfRows: 16, QKSegments: 2, QKNear: 1, PVNear: 1, PrefetchBytes: 8 << 10, FarPrefetch: 1, ThreadFMAs: 2 << 20, WeightSteps: 384, QuantizedRows: 8, PairRows: 1 << 20, LowerRows: 4}},
	{SkylakeX, "avx512", "predicted by llvm-mca for skylake-avx512: a second segment gains nothing with 4 queries. LowerRows is 0, as K-quants were not measured there; PairRows is that of Sapphire Rapids; the others are those of Zen 4",
		Tuning{MainLanes: 64, SkinnyRows: 44, FullRows: 16, FullHalfRows: 16, QKSegments: 1, QKNear: 2, PVNear: 2, PrefetchBytes: 8 << 10, FarPrefetch: 1, ThreadFMAs: 2 << 20, WeightSteps: 384, QuantizedRows: 8, PairRows: 8}},
	{SapphireRapids, "avx512", "measured on Emerald Rapids: 64 lanes, which need the fewest loads; near prefetches into level 1 take 12-18% less from L2 and L3, and up to 12% less from memory; a second segment takes 3% less from L2 with 1 query, 1% more with 4, and makes no difference beyond; HeadValues takes 3% less for 128 keys and 64 columns, 2% more for 32; with 1024 weight steps 1024 inputs take 2-7% less than with 384, others up to 1% more; prefetches of all panels take 10-25% less for 2-5 rows of weights from memory, 10-35% for 9-32 rows, and 2-20% from L3, but up to 2% more for 12-32 rows of float16 from L3; to widen 16-bit weights once takes 8% less for 40 rows, 18% for 128; from 12 rows on quantized weights gain by that, up to 4 they lose; two segments at a time take 3-4% less in the gradients of 2048 keys with 128 columns, 0-2% less in those of 8192 with 64, and 1% more for half as many or fewer. The others are those of Zen 4; on Granite Rapids K-quants take 9% less in avx2 with 1 row of float32 and 17% less with 4",
		Tuning{MainLanes: 64, SkinnyRows: 44, FullRows: 16, FullHalfRows: 16, HeadKeys: 128, QKSegments: 1, QKNear: 1, PVNear: 1, PrefetchBytes: 8 << 10, FarPrefetch: 1, PairBytes: 1 << 20, ThreadFMAs: 2 << 20, WeightSteps: 1024, PanelPrefetch: 1, QuantizedRows: 8, WidenRows: 32, PairRows: 8, LowerRows: 4}},

	{AnyCPU, "neon", "those of Neoverse N1",
		Tuning{MainLanes: 12, SkinnyRows: 8, PrefetchBytes: 8 << 10, FarPrefetch: 1, ThreadFMAs: 1 << 19, WeightSteps: 128, QuantizedRows: 1, WidenRows: 2}},
	{NeoverseN1, "neon", "predicted by gen/tools/mca.sh, which has all tiles at the peak of 2 FMAs a cycle, and 0.4 of that where FCVTL widens 16-bit weights, so that they are widened once for more than 2 rows",
		Tuning{MainLanes: 12, SkinnyRows: 8, PrefetchBytes: 8 << 10, FarPrefetch: 1, ThreadFMAs: 1 << 19, WeightSteps: 128, QuantizedRows: 1, WidenRows: 2}},
	{NeoverseV1, "neon", "predicted by gen/tools/mca.sh as for N1, with 4 FMAs a cycle",
		Tuning{MainLanes: 12, SkinnyRows: 8, PrefetchBytes: 8 << 10, FarPrefetch: 1, ThreadFMAs: 1 << 20, WeightSteps: 128, QuantizedRows: 1, WidenRows: 2}},
	{NeoverseV2, "neon", "predicted by gen/tools/mca.sh as for N1, with 4 FMAs a cycle",
		Tuning{MainLanes: 12, SkinnyRows: 8, PrefetchBytes: 8 << 10, FarPrefetch: 1, ThreadFMAs: 1 << 20, WeightSteps: 128, QuantizedRows: 1, WidenRows: 2}},
	{Apple, "neon", "those of Neoverse V2, as Apple's cores start 4 FMAs of 128 bits a cycle, too; not measured",
		Tuning{MainLanes: 12, SkinnyRows: 8, PrefetchBytes: 8 << 10, FarPrefetch: 1, ThreadFMAs: 1 << 20, WeightSteps: 128, QuantizedRows: 1, WidenRows: 2}},

	{AnyCPU, "rvv", "not measured. gen/tools/mca.sh predicts that tiles of two and of four registers run at the peak of SiFive's P670, and that up to as many rows as a register has lanes the skinny kernels take less time than a tile of them: a number of K and one of V take 1.0 cycle with 1 row and 1.25 with 4 in registers of 128 bits, in a tile 1.7; with 5 rows 2.1, in a tile 2.0",
		Tuning{PrefetchBytes: 8 << 10, ThreadFMAs: 1 << 18, WeightSteps: 128, WidenRows: 8, QuantizedRows: 4}},
}

// entryOf returns the entry of a tier with a CPU's name, nil if there is none.
func entryOf(tier, cpu string) *TuningEntry {
	for i := range Tunings {
		if e := &Tunings[i]; e.Tier == tier && e.CPU == cpu {
			return e
		}
	}
	return nil
}

// entryFor returns the entry of a tier for a CPU.
func entryFor(tier, cpu string) *TuningEntry {
	if e := entryOf(tier, cpu); e != nil {
		return e
	}
	return entryOf(tier, AnyCPU)
}

// fitWidths completes the entries of t without MainLanes, which are for a tier whose widths depend
// on the CPU: its widest tile is the fastest, and the skinny kernels are faster than the narrowest.
func (t *Tier) fitWidths() {
	for i := range Tunings {
		if e := &Tunings[i]; e.Tier == t.Name && e.MainLanes == 0 {
			e.MainLanes, e.SkinnyRows = t.Widest(), t.Widths[0]
		}
	}
}

// cpus lists the CPUs that there are entries for.
func cpus() (names []string) {
	for _, e := range Tunings {
		if !slices.Contains(names, e.CPU) {
			names = append(names, e.CPU)
		}
	}
	return names
}
