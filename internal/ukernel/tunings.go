package ukernel

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
		Tuning{MainLanes: 8, SkinnyRows: 16, PrefetchBytes: 8 << 10, ThreadFMAs: 1 << 15, WeightSteps: 128, QuantizedRows: 1}},

	{AnyCPU, "avx2", "measured on Zen 4: skinny kernels gain up to 6 rows from L2 and L3; up to 12 they lose 0-7% from L3; tiles gain from 8 full rows on",
		Tuning{MainLanes: 16, SkinnyRows: 12, FullRows: 8, QKKeys: 16, QKSegments: 1, QKNear: 1, PVNear: 1, PrefetchBytes: 8 << 10, ThreadFMAs: 2 << 20, WeightSteps: 128, QuantizedRows: 12}},

	{AnyCPU, "avx512", "those of Zen 4; Emerald Rapids was measured to prefer tiles of 64 lanes, too, which need the fewest loads",
		Tuning{MainLanes: 64, SkinnyRows: 44, FullRows: 16, QKKeys: 16, QKSegments: 1, QKNear: 2, PVNear: 2, PrefetchBytes: 8 << 10, ThreadFMAs: 2 << 20, WeightSteps: 384, QuantizedRows: 8}},
	{Zen4, "avx512", "measured: skinny kernels gain up to 44 rows from L2 and L3, a fifth on average; tiles gain 5-8% for 16 and 32 full rows; near prefetches into level 2 take 5-10% less from memory, 32 keys at a time a fifth more from beyond L2",
		Tuning{MainLanes: 64, SkinnyRows: 44, FullRows: 16, QKKeys: 16, QKSegments: 1, QKNear: 2, PVNear: 2, PrefetchBytes: 8 << 10, ThreadFMAs: 2 << 20, WeightSteps: 384, QuantizedRows: 8}},
	{Zen5, "avx512", "measured: 32 lanes beat 64 by 1-4%, as S of a block stays in L1; near prefetches into level 1 take 7% less from memory, 18% less from L3; the second segment by llvm-mca",
		Tuning{MainLanes: 32, SkinnyRows: 44, FullRows: 16, QKKeys: 16, QKSegments: 2, QKNear: 1, PVNear: 1, PrefetchBytes: 8 << 10, ThreadFMAs: 2 << 20, WeightSteps: 384, QuantizedRows: 8}},

	{AnyCPU, "neon", "predicted by llvm-mca for Neoverse N1, V1 and V2: FCVTL halves the speed of more than 2 rows of 16-bit weights",
		Tuning{MainLanes: 12, SkinnyRows: 8, PrefetchBytes: 8 << 10, ThreadFMAs: 1 << 19, WeightSteps: 128, QuantizedRows: 1, WidenRows: 2}},
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

// cpusOf lists the CPUs that a tier has entries for.
func cpusOf(tier string) (cpus []string) {
	for _, e := range Tunings {
		if e.Tier == tier {
			cpus = append(cpus, e.CPU)
		}
	}
	return cpus
}
