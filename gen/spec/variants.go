package spec

import "fmt"

// A QKVariant tells an ISA's kernels SkinnyQK for float32 apart. Their results are the same.
// Which one is the fastest depends on the CPU.
type QKVariant struct {
	Segments int // of the columns that a tile for up to 4 queries computes side by side, if D has so many
	Near     int // level of the cache into which rows are prefetched that are needed soon
	Ahead    int // least number of queries for which words are loaded between earlier FMAs, 0 for none
}

// A PVVariant tells an ISA's kernels SkinnyPV for float32 apart.
type PVVariant struct {
	Near int // as in QKVariant
}

// A WeightVariant tells an ISA's kernels WeightGemm apart.
type WeightVariant struct {
	Prefetch int // which register tiles prefetch the packed panel: 0 high ones, 1 all
}

// A BlockVariant tells an ISA's products of few rows with quantized weights apart.
type BlockVariant struct {
	Ahead int // KiB that all tiles prefetch ahead, 0 for distances of format and rows
}

// Function is SkinnyQK in this variant.
func (v QKVariant) Function() Function {
	return SkinnyQK(Float32).variant("QK", fmt.Sprintf("S%dL%d", v.Segments, v.Near),
		fmt.Sprintf("Tiles for up to 4 queries have %d segments at a time; the near prefetches go to level %d of the cache.", v.Segments, v.Near))
}

// Function is SkinnyPV in this variant.
func (v PVVariant) Function() Function {
	return SkinnyPV(Float32).variant("PV", fmt.Sprintf("L%d", v.Near),
		fmt.Sprintf("The near prefetches go to level %d of the cache.", v.Near))
}

// Function is WeightGemm for a type of weights in this variant.
func (v WeightVariant) Function(b Element) Function {
	note := "High register tiles prefetch the panel."
	if v.Prefetch > 0 {
		note = "All register tiles prefetch the panel, and several of them the next part, too."
	}
	return WeightGemm(b).variant("Weight", fmt.Sprintf("P%d", v.Prefetch), note)
}

// Function is f in this variant.
func (v BlockVariant) Function(f Function) Function {
	note := "Prefetches are as far ahead as the format and the rows want."
	if v.Ahead > 0 {
		note = fmt.Sprintf("Prefetches are %d KiB ahead.", v.Ahead)
	}
	return f.variant("Block", fmt.Sprintf("A%d", v.Ahead), f.Note+" "+note)
}

// variant returns f as a kernel of several of a kind.
func (f Function) variant(kind, name, note string) Function {
	f.Name, f.Variant, f.Note = f.Name+name, kind+"="+name, note
	return f
}
