package ukernel

// Norms normalise n rows of len(weight) ≥ 1 elements each, from src[i·lds:] to dst[i·ldd:],
// which may be the same rows. size is float32(len(weight)). Every NaN becomes 0x7fc00000. A sum
// over a row has 64 chains: element e belongs to chain e mod 64, a chain starts from +0 and takes
// its elements in ascending order, and then acc[r] += acc[r+32] for r < 32, acc[r] += acc[r+16]
// for r < 16, and so on.
type Norms struct {
	// RMSNorm divides by the root of the mean square:
	//
	//	inv = 1/sqrt(sum(x²)/size + eps), the sum by acc = fma(x, x, acc)
	//	y = (x·inv)·weight
	RMSNorm func(dst []float32, ldd int, src []float32, lds, n int, weight []float32, size, eps float32)

	// LayerNorm makes the mean 0 and the variance 1:
	//
	//	mean = sum(x)/size, the sum by acc = acc + x
	//	rest = sum(x-mean)/size, the sum by acc = acc + (x-mean)
	//	z = (x-mean)-rest
	//	inv = 1/sqrt(sum(z²)/size + eps), the sum by acc = fma(z, z, acc)
	//	y = fma(z·inv, weight, bias)
	LayerNorm func(dst []float32, ldd int, src []float32, lds, n int, weight, bias []float32, size, eps float32)
}
