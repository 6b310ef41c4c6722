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
	SapphireRapids = "Sapphire Rapids" // Emerald Rapids, too
	GraniteRapids  = "Granite Rapids"  // and later
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

// Tunings are all entries. Every tier has one for AnyCPU, which other CPUs get. A tier's entries
// begin with it. `go run ./bench -tune` prints the entry of the machine at hand.
var Tunings = []TuningEntry{
	{AnyCPU, "generic", "measured on Zen 4",
		Tuning{MainLanes: 8, SkinnyRows: 16, PrefetchBytes: 8 << 10, FarPrefetch: 1, ThreadFMAs: 1 << 15, WeightSteps: 128, QuantizedRows: 1, PairRows: 1 << 20}},

	{AnyCPU, "avx2", "those of Zen 4",
		Tuning{MainLanes: 16, SkinnyRows: 12, FullRows: 8, HeadKeys: 128, QKSegments: 1, QKNear: 1, PVNear: 1, PrefetchBytes: 8 << 10, FarPrefetch: 1, ThreadFMAs: 2 << 20, WeightSteps: 128, QuantizedRows: 12, WidenRows: 16, PairRows: 8, UnpackRows: 2}},
	{Zen2, "avx2", "those of Zen 3, whose FMA units are as wide",
		Tuning{MainLanes: 16, SkinnyRows: 12, FullRows: 8, QKSegments: 1, QKNear: 1, PVNear: 1, PrefetchBytes: 8 << 10, FarPrefetch: -1, ThreadFMAs: 2 << 20, WeightSteps: 128, QuantizedRows: 8, PairRows: 6, UnpackRows: 2}},
	{Zen3, "avx2", "measured by bench -tune",
		Tuning{MainLanes: 16, SkinnyRows: 12, FullRows: 8, QKSegments: 1, QKNear: 1, PVNear: 1, PrefetchBytes: 8 << 10, FarPrefetch: -1, ThreadFMAs: 2 << 20, WeightSteps: 128, QuantizedRows: 8, PairRows: 6, UnpackRows: 2}},
	{Zen4, "avx2", "measured",
		Tuning{MainLanes: 16, SkinnyRows: 12, FullRows: 8, HeadKeys: 128, QKSegments: 1, QKNear: 1, PVNear: 1, PrefetchBytes: 8 << 10, FarPrefetch: 1, ThreadFMAs: 2 << 20, WeightSteps: 128, QuantizedRows: 12, WidenRows: 16, PairRows: 8, UnpackRows: 2}},
	{Zen5, "avx2", "measured on Turin by bench -tune",
		Tuning{MainLanes: 24, SkinnyRows: 12, FullRows: 8, HeadKeys: 128, QKSegments: 1, QKNear: 1, PVNear: 1, PrefetchBytes: 8 << 10, ThreadFMAs: 2 << 20, WeightSteps: 128, QuantizedRows: 12, WidenRows: 16, PairRows: 8, UnpackRows: 2, FarRows: 32}},
	{SapphireRapids, "avx2", "measured on Emerald Rapids by bench -tune",
		Tuning{MainLanes: 24, SkinnyRows: 12, FullRows: 8, FullHalfRows: 16, QKSegments: 1, QKNear: 1, PVNear: 1, PrefetchBytes: 8 << 10, FarPrefetch: 1, ThreadFMAs: 2 << 20, WeightSteps: 128, QuantizedRows: 4, WidenRows: 4, PairRows: 6, UnpackRows: 2}},
	{GraniteRapids, "avx2", "measured by bench -tune",
		Tuning{MainLanes: 24, SkinnyRows: 8, FullRows: 8, FullHalfRows: 16, QKSegments: 1, QKNear: 1, PVNear: 1, PrefetchBytes: 4 << 10, FarPrefetch: 1, ThreadFMAs: 2 << 20, WeightSteps: 128, QuantizedRows: 4, WidenRows: 4, PairRows: 6, UnpackRows: 2, FarRows: 12}},
	{AlderLake, "avx2", "those of Sapphire Rapids, whose cores are the same but for AVX-512; not measured",
		Tuning{MainLanes: 24, SkinnyRows: 12, FullRows: 8, FullHalfRows: 16, QKSegments: 1, QKNear: 1, PVNear: 1, PrefetchBytes: 8 << 10, FarPrefetch: 1, ThreadFMAs: 2 << 20, WeightSteps: 128, QuantizedRows: 4, WidenRows: 4, PairRows: 6, UnpackRows: 2}},

	{AnyCPU, "avx512", "those of Zen 4, but only up to 4 rows take the tier below: with two 512-bit FMAs a cycle more would lose",
		Tuning{MainLanes: 64, SkinnyRows: 44, FullRows: 16, FullHalfRows: 32, HeadKeys: 256, QKSegments: 1, QKNear: 2, PVNear: 2, PrefetchBytes: 8 << 10, FarPrefetch: 1, ThreadFMAs: 2 << 20, WeightSteps: 384, QuantizedRows: 8, PairRows: 1 << 20, UnpackRows: 4, LowerRows: 4}},
	{Zen4, "avx512", "measured",
		Tuning{MainLanes: 64, SkinnyRows: 44, FullRows: 16, FullHalfRows: 32, HeadKeys: 256, QKSegments: 1, QKNear: 2, PVNear: 2, PrefetchBytes: 8 << 10, FarPrefetch: 1, ThreadFMAs: 2 << 20, WeightSteps: 384, QuantizedRows: 8, PairRows: 1 << 20, UnpackRows: 4, LowerRows: 64}},
	{Zen5, "avx512", "measured on Turin by bench -tune",
		Tuning{MainLanes: 32, SkinnyRows: 16, FullRows: 16, FullHalfRows: 32, HeadKeys: 128, QKSegments: 2, QKNear: 1, PVNear: 1, PrefetchBytes: 12 << 10, ThreadFMAs: 2 << 20, WeightSteps: 384, PanelPrefetch: 1, QuantizedRows: 12, PairRows: 1 << 20, UnpackRows: 8, FarRows: 44, LowerBytes: 16 << 20, BlockPrefetch: 12}},
	{SkylakeX, "avx512", "predicted by llvm-mca; LowerRows, UnpackRows and PairRows not measured; else older ones of Zen 4",
		Tuning{MainLanes: 64, SkinnyRows: 44, FullRows: 16, FullHalfRows: 16, QKSegments: 1, QKNear: 2, PVNear: 2, PrefetchBytes: 8 << 10, FarPrefetch: 1, ThreadFMAs: 2 << 20, WeightSteps: 384, QuantizedRows: 8, PairRows: 8, UnpackRows: 4}},
	{SapphireRapids, "avx512", "measured on Emerald Rapids by bench -tune; LowerRows and UnpackRows are those of Granite Rapids",
		Tuning{MainLanes: 64, SkinnyRows: 32, FullRows: 16, FullHalfRows: 16, HeadKeys: 128, QKSegments: 1, QKNear: 1, PVNear: 1, PrefetchBytes: 8 << 10, FarPrefetch: 1, PairBytes: 1 << 20, ThreadFMAs: 2 << 20, WeightSteps: 384, PanelPrefetch: 1, QuantizedRows: 8, WidenRows: 32, PairRows: 8, UnpackRows: 4}},
	{GraniteRapids, "avx512", "measured by bench -tune",
		Tuning{MainLanes: 48, SkinnyRows: 16, FullRows: 16, FullHalfRows: 32, QKSegments: 1, QKNear: 1, PVNear: 1, PrefetchBytes: 4 << 10, FarPrefetch: 1, PairBytes: 1 << 20, ThreadFMAs: 2 << 20, WeightSteps: 384, PanelPrefetch: 1, QuantizedRows: 8, WidenRows: 32, PairRows: 8, UnpackRows: 4, FarRows: 24}},

	{AnyCPU, "neon", "those of Neoverse N1",
		Tuning{MainLanes: 12, SkinnyRows: 8, PrefetchBytes: 8 << 10, FarPrefetch: 1, ThreadFMAs: 1 << 19, WeightSteps: 128, QuantizedRows: 1, WidenRows: 2}},
	{NeoverseN1, "neon", "predicted by gen/tools/mca.sh: 2 FMAs a cycle, 0.4 of that where FCVTL widens 16-bit weights",
		Tuning{MainLanes: 12, SkinnyRows: 8, PrefetchBytes: 8 << 10, FarPrefetch: 1, ThreadFMAs: 1 << 19, WeightSteps: 128, QuantizedRows: 1, WidenRows: 2}},
	{NeoverseV1, "neon", "predicted by gen/tools/mca.sh as for N1, with 4 FMAs a cycle",
		Tuning{MainLanes: 12, SkinnyRows: 8, PrefetchBytes: 8 << 10, FarPrefetch: 1, ThreadFMAs: 1 << 20, WeightSteps: 128, QuantizedRows: 1, WidenRows: 2}},
	{NeoverseV2, "neon", "predicted by gen/tools/mca.sh as for N1, with 4 FMAs a cycle",
		Tuning{MainLanes: 12, SkinnyRows: 8, PrefetchBytes: 8 << 10, FarPrefetch: 1, ThreadFMAs: 1 << 20, WeightSteps: 128, QuantizedRows: 1, WidenRows: 2}},
	{Apple, "neon", "those of Neoverse V2, as Apple's cores start 4 FMAs of 128 bits a cycle, too; not measured",
		Tuning{MainLanes: 12, SkinnyRows: 8, PrefetchBytes: 8 << 10, FarPrefetch: 1, ThreadFMAs: 1 << 20, WeightSteps: 128, QuantizedRows: 1, WidenRows: 2}},

	{AnyCPU, "rvv", "predicted by gen/tools/mca.sh for SiFive's P670; not measured",
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
