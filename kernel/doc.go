// Package kernel computes attention on CPUs,
//
//	out = softmax(q·kᵀ·scale, masked)·v
//
// with assembly for AVX-512, AVX2 and NEON and plain Go everywhere else, chosen when
// the program starts, and with the same bits from all of them. [Attention] is
// the call for it; [Tensor] is how it sees the caller's memory, [Options] and
// [Mask] say what else it shall do, [Tiers] lists what runs here.
//
// # The numeric contract
//
// This is version 1 of the contract; the constant [Contract] is its number. A
// row's result is a function of that row of q, of the keys and values that it
// may see, of their positions and of the options, down to the last bit. The
// function is defined here in full, so that anyone can implement it.
//
// All arithmetic is IEEE-754 binary32, rounded to nearest, ties to even, with
// subnormals honoured. fma(x, y, z) = x·y+z rounds once; every other operation
// rounds for itself. Constants are given as bits. Derived constants are computed
// in binary64 and rounded to binary32 once.
//
// Elements of q, k, v and a bias that are binary16 or bfloat16 are widened, which is
// exact; one of int8 is float32(element)·scale, rounded. out is rounded to its own
// type last of all, to nearest, ties to even, beyond the largest number to
// infinity.
//
//	c    = float32(float64(scale)·log2 e)      scale: a float32, default float32(1/sqrt(float64(D)))
//	q̂[d] = q[d]·c
//	s[j] = fma chain over d = 0..D-1, ascending, from +0: acc = fma(q̂[d], k[j][d], acc)
//
// Scores are in the units of base-2 exponentials: LOG2E = 3fb8aa3b and LN2 =
// 3f317218 lead there and back. Then, each only if asked for, in this order, with i
// and j the positions of query and key:
//
//	hook      s = whatever Options.Score makes of it
//	softcap   s = C·tanh(s·I)               C = float32(cap·log2 e), I = float32(1/(cap·log2 e))
//	ALiBi     s = fma(A, -float32(|i-j|), s)  A = float32(slope of the head·log2 e)
//	bias      s = fma(bias, LOG2E, s); a key with a bias of -Inf is hidden
//	mask      the key is hidden
//
// A key is hidden by select and not by arithmetic; a key whose s is -Inf in the end
// is hidden too. Keys are cut into blocks of 256 by their position: 0..255,
// 256..511, and so on. Queries and keys start at position 0, or where
// Options.QueryStart and Options.KeyStart say. For every block that has a visible
// key:
//
//	m    = max s[j]
//	p[j] = exp2(s[j]-m), hidden keys 0
//	l    = sum of p[j], j ascending, from +0
//	o[e] = fma chain over j ascending, from +0: acc = fma(p[j], v[j][e], acc)
//
// The blocks are folded from left to right. The first is taken as it is; then,
// with mb, lb, ob those of the next block,
//
//	m' = max(m, mb); a = exp2(m-m'); b = exp2(mb-m')
//	l  = fma(lb, b, l·a); o[e] = fma(ob[e], b, o[e]·a); m = m'
//
// A sink is one last block with m = float32(sink·log2 e), l = 1, o = 0. In the end
//
//	inv  = 1/l; out[e] = (o[e]·inv, rounded) + (+0)
//	LSE  = (m + log2(l))·LN2 + (+0), each step rounded
//	w[j] = (p·inv, rounded) + (+0), p = exp2(s[j]-m)
//
// where w are the weights, if they are wanted. Scores that are handed out are
// s·LN2 + (+0).
//
// Dropout replaces a weight p, after it was added to l, by +0 if it is dropped and
// else by p·float32(1/(1-rate)); likewise p in w. It is dropped if the word j mod 4 of
// Philox4x32-10, with the seed as key (low word first) and the counter (sequence,
// query head, i, j/4), is below the rate·2^32 rounded to an integer. The
// sequence is the batch row or what Options.Dropout.Sequences says; all are
// taken modulo 2^32.
//
// m, l and o of a block are its partials: with +0 added, and with every NaN as 7fc00000.
//
// A row that sees no key is zeros, by select, its weights too; its LSE is -Inf, or the
// sink's. A NaN in a visible score or value,
// and any other NaN that arises from visible ones (a score of +Inf, 0·Inf),
// makes the whole row the NaN 0x7FC00000 (0x7E00 in binary16, 0x7FC0 in bfloat16), its LSE too, and its weights if l is NaN.
// Scores that are NaN are this one. Hidden keys and values never matter,
// even if they are NaN or Inf.
//
// Where exactly a result's value is zero its sign can differ between
// evaluations on the way (a hidden key adds +0, which turns -0 into +0); the last
// addition of +0 makes every zero +0.
//
// That is the whole freedom of an implementation: queries or keys may sit in the
// lanes of a vector, rows may be tiled, blocks may run on different threads; the
// order of the operations on one row may not change.
//
// The order costs no speed: with queries in the lanes every lane is a chain of
// its own, a softmax within a block needs no rescaling inside it, and the blocks
// are independent until they are folded. It bounds the accuracy: against
// float64, on unit-normal input at D = 64, the largest error is about 1e-6 and
// the rms error 6e-8.
//
// The scores of [Additive] are sums in 16 chains, q, k and the weights being continued
// with zeros up to a multiple of 16; there is no q̂:
//
//	w[d]   = float32(float64(weights[d])·scale·log2 e)      scale: 1 by default
//	acc[r] = fma chain over d = r, r+16, r+32, ..., from +0: acc = fma(w[d], tanh(q[d]+k[j][d]), acc)
//	s[j]   = acc[0] after acc[r] += acc[r+8] for r < 8, acc[r+4] for r < 4, acc[r+2] for r < 2, acc[1]
//
// All that follows is the same.
//
// # The functions
//
// exp2(x) is exactly 0 below -126, +Inf from 128 on, and otherwise, with
//
//	n = x rounded to an integer, ties to even; r = x-n, which is exact
//
// the polynomial c0 + r·(c1 + r·(c2 + ... + r·c6)), evaluated by Horner's rule
// with one fma per step from acc = c6, and multiplied by 2^n, which is exact:
//
//	c0..c6 = 3f800000 3f317218 3e75fdee 3d6357be 3c1d96f0 3aaf8418 3920b5ae
//
// Attention needs it for x ≤ 0 alone. Over all floats its error is at most 0.80 ulp.
//
// tanh(x) has the sign of x and the magnitude t + q, where
//
//	a = the smaller of |x| and 41103000
//	k = a·3f550000, not rounded, rounded to an integer, ties to even: 0..7
//	r = a-c[k], which is exact; u = r·r
//	h = b0 + u·(b1 + u·(b2 + u·b3)), by Horner's rule as above
//	q = (v[k]·r) / fma(t[k], r, h); t = t[k]
//
//	b0..b3 = 3f800000 3eaaaa79 bcb5d1e4 3b01b40b
//	c[0..7] = 00000000 3f9960b9 401973b4 40669340 4099a70b 40c05395 40e7034e 410aa123
//	t[0..7] = 00000000 3f5547a4 3f7bcd32 3f7f9ec0 3f7ff727 3f7fff36 3f7fffee 3f7fffff
//	v[0..7] = 3f800000 3e9c9f6a 3d053fb8 3b425b0e 398d8d8e 37c9ffb0 360ffffb 34000000
//
// which is the theorem for tanh(c+r), with t = tanh c, v = 1-t² and h = r/tanh r. Over
// all floats its error is at most 1.85 ulp; ±0 and what is tiny stay as they are, and
// from ±9.0110 on it is ±1.
//
// log2(x) of a positive number, with x = m·2^e such that the bits of m are from
// 3f2aaaab up to 3faaaaaa, which is m in [2/3, 4/3) and subnormal x too, is
//
//	fma(f, d0 + f·(d1 + f·(d2 + ... + f·d9)), e), f = m-1, which is exact
//
// with the polynomial by Horner's rule as above:
//
//	d0..d4 = 3fb8aa3b bf38aa3c 3ef637fa beb8a994 3e93d2e3
//	d5..d9 = be767a03 3e4e8a17 be3377f7 3e501dd4 be405761
//
// It is -Inf for ±0, +Inf for +Inf and NaN below 0. Over all floats its error is at
// most 1.66 ulp.
//
// A NaN stays one in all of them. [Exp2], [Tanh] and [Log2] are these functions.
//
// # Linear layers and rotary positions
//
// What stands around attention in a model keeps the same promises. [Linear] is
// out = x·Wᵀ + b, with every output one chain that a row of x and a row of W make
// alone, w widened to binary32 where it is narrower:
//
//	acc = fma(x[m][k], w[n][k], acc), k = 0..K-1 ascending, from +0
//	out[m][n] = acc + b[n], or acc if there is no bias
//
// and 7fc00000 where that is a NaN. [Rope] turns pairs of numbers by the angle
// position·frequency, y0 = x0·cos - x1·sin and y1 = x1·cos + x0·sin, where every
// product is rounded before the sum. Cosine and sine are those of the exact angle,
// rounded; its documentation has the steps.
//
// # Tiers
//
// A tier is one implementation: avx512, avx2, neon, generic. The best that the CPU can
// run is the default; the environment variable ATTN_TIER names another one, and
// Options.Tier chooses per call. A tier that does not exist or cannot run is an
// error of the call: nothing falls back silently. The build tag purego drops all
// assembly.
package kernel
