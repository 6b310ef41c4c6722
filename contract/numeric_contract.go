// # The numeric contract
//
// This is version 4 of the contract. The constant kernel.Contract is its number.
//
// In version 3 a finite bias could overflow and hide its key, and norm.LayerNorm had one
// mean, whose rounding error stood out in rows that have a small variance. In version 2 the
// weights of attention were 0 below 2^-126 instead of 2^-100. In version 1 a score was one
// chain over all columns and an output of a linear layer one over all inputs, which has the
// same bits for heads of up to 64 columns and layers of up to 128 inputs.
//
// The result of a row is a function of that row of q, of the keys and values that it
// may see, of their positions and of the options, down to the last bit. This text
// defines the function in full, so that anyone can implement it.
//
// # Contract: arithmetic
//
// All arithmetic is IEEE-754 binary32. It rounds to nearest, ties to even, and keeps
// subnormal numbers. fma(x, y, z) = x·y+z rounds once. Every other operation rounds
// for itself. An fma chain is a sequence of fma, each of which adds to the result of the
// one before it.
//
// Constants are given as bits, in hexadecimal. Derived constants are computed in
// binary64, with log2 e = 3ff71547652b82fe, and rounded to binary32 once.
//
// Elements of q, k, v and a bias that are binary16 or bfloat16 are widened, which is exact. So are
// elements of k and v that are E4M3 or E5M2 of the OCP 8-bit Floating Point Specification. An
// element of int8, or of int4 from -8 to 7, becomes float32(element)·scale, rounded. The last step of all rounds out to its
// own type: to nearest, ties to even, and to infinity beyond the largest number. What rounds to E4M3
// or E5M2 rounds to nearest, ties to even, and beyond the largest number, 448 or 57344, to that
// number; a NaN becomes 7f or 7e, in binary16 7e00 and in bfloat16 7fc0.
//
// numeric.QuantizeInt8 makes int8 of the numbers x of a group, the largest of whose magnitudes is a,
// with both quotients rounded:
//
//	scale = a/127, where a counts as at most 7f7ffffe, or +0 if that is below 2^-126
//	code  = x/scale, rounded to an integer, ties to even; 0 if scale is 0
//
// With a scale of a = 7f7fffff the code 127 would stand for infinity, so the largest number
// is read back as 7f7ffffe.
//
// numeric.QuantizeInt4 makes int4 of them, where m is the number whose magnitude is a, the positive one if
// there are two, with both quotients rounded:
//
//	scale = m/-8 + (+0), or +0 if that is below 2^-126 in magnitude
//	code  = x/scale, rounded to an integer, ties to even, and then limited to -8 to 7; 0 if scale is 0
//
// # Contract: subnormal numbers
//
// Arithmetic keeps subnormal numbers. But on some CPUs an fma of one, or with such a
// result, takes 100 times as long as others. So a number that is prepared once, to be used
// often, is +0 if its magnitude is below 2^-126:
//
//	weights that linear.New packs, and those of MXFP4
//	keys and values of float32 and bfloat16 that package kvcache stores, after they were rounded
//	scales of numeric.QuantizeInt8 and QuantizeInt4, and with them all codes of the group
//	weights and means that optimize.AdamW.Step writes
//
// and a factor that attention computes or is given for each pair is +0 below 2^-100, so
// that its products with numbers of at least 2^-26 are not subnormal:
//
//	weights of keys, and the factors that merge blocks, see weight
//	dout, and the gradients of scores, in gradients of attention
//
// Everything else is used as it is: the rows of a call, keys and values in tensors, both
// matrices of linear.Product and all of linear.Backward. The formats of quantized weights
// but MXFP4, and elements of binary16, int8, int4, E4M3 and E5M2 with scales as above,
// stand for no subnormal numbers.
//
// # Contract: scores
//
// For a query q and every key k[j]:
//
//	c    = float32(float64(scale)·log2 e)
//	q̂[d] = q[d]·c
//	a[n] = fma chain over d = 64n..min(64n+63, D-1), ascending, from +0: acc = fma(q̂[d], k[j][d], acc)
//	s[j] = a[0] + a[1] + a[2] + ..., from left to right
//
// scale is a float32, by default float32(1/sqrt(float64(D))). It may be 0: that is Options.Scale of -0. The chains are those of
// segments of 64 columns, of which the last may be shorter. With longer segments the error
// would grow faster with D, see "Contract: accuracy".
//
// Scores are in the unit of base-2 exponentials. LOG2E = 3fb8aa3b converts natural
// scores to this unit, and LN2 = 3f317218 converts them back.
//
// Then these steps follow, in this order, each only if the options ask for it. i is the
// position of the query and j that of the key:
//
//	Score     s = what Options.Score makes of it
//	Softcap   s = C·tanh(s·I)
//	          C = float32(cap·log2 e), I = float32(1/(cap·log2 e))
//	ALiBi     s = fma(A, -float32(|i-j|), s)
//	          A = float32(slope of the head·log2 e), limited to ±63800000, which is 2^72
//	Bias      s = fma(b, LOG2E, s), b is the bias limited to ±7f317217; but s = the bias, if it is infinite or
//	          a NaN: -Inf hides the key
//	Mask      hides the key
//
// A finite bias hides no key by overflow, and makes no NaN. 7f317217 is the largest number
// whose product with LOG2E rounds to less than 2^128: the product is
// 2^128·(1 - 1.62·2^-24), and 2^128·(1 - 2^-25) is the first number that rounds to infinity. Between
// them are 1.12·2^104, so s stays finite if it was below 2^104 = 2e31 in magnitude.
// Distances are at most 2^31, and ALiBi takes at most 2^103 of that. With larger scores of
// q and k the sum may overflow, as they may themselves: a key with -Inf is hidden, and +Inf
// makes the row NaN.
//
// A key is hidden by selection, not by arithmetic: its own s no longer matters. A key
// whose final s is -Inf is hidden too.
//
// Keys at or beyond a key length (KeyLengths, or that of a ragged row) do not exist: their
// rows are never read, and no step applies to them.
//
// # Contract: blocks
//
// Queries and keys start at position 0, or where Options.QueryStart and Options.KeyStart
// say. Positions are from -2^30+1 to 2^30-1, those of keys not below 0. Keys are cut into
// blocks of 256 by their position: 0..255, 256..511, and so on. For every block that has a
// visible key:
//
//	m    = the largest s[j] of a visible key; a NaN is passed over; -Inf if there is no other
//	p[j] = weight(s[j]-z), +0 for hidden keys; z is m, or 0 if m is -Inf
//	l    = sum of p[j], j ascending, from +0
//	o[e] = fma chain over j, ascending, from +0: acc = fma(p[j], v[j][e], acc)
//
// The blocks are merged from left to right. The first block is taken as it is. Every
// further block, with its mb, lb and ob, is merged into m, l and o:
//
//	m' = max(m, mb); a = weight(m-z); b = weight(mb-z); z is m', or 0 if m' is -Inf
//	l  = fma(lb, b, l·a)
//	o[e] = fma(ob[e], b, o[e]·a)
//	m  = m'
//
// A sink is one last block with m = float32(sink·log2 e), l = 1 and o = 0.
//
// # Contract: results
//
//	inv    = 1/l
//	out[e] = o[e]·inv + (+0)
//	LSE    = (m + log2(l))·LN2 + (+0)
//	w[j]   = p·inv + (+0), p = weight(s[j]-z), or +0 for hidden keys
//
// Every step rounds: there is no fma here. w are the weights, if they are wanted; m, z, l
// and inv are those of all blocks.
//
// Scores that are handed out are s·LN2 + (+0), with s as it is after a step: after the
// product (ScoresScaled), after Softcap (ScoresCapped), or after Mask (ScoresMasked). Before
// the mask a hidden key has the s that it would have if it were visible. At all three stages
// it is -Inf for keys that do not exist.
//
// The partials of a block are its m, l and o, each plus +0, and with every NaN
// replaced by 7fc00000. m is never NaN. o may be finite although l is NaN: if the weights
// that are NaN were dropped.
//
// # Contract: dropout
//
// After p was added to l, and before it is multiplied by a value, dropout replaces it: by
// +0 if the weight is dropped, and by p·float32(1/(1-rate)) if it is not. It does the
// same with p in w.
//
// A weight is dropped if a random word is below rate·2^32, computed exactly and then rounded
// to an integer, ties to even. That word is c[j mod 4] of the four words c[0..3] that
// Philox4x32-10 makes of the counter
//
//	c[0..3] = sequence, query head, i, j/4 rounded down
//
// i and j are positions, as above. The sequence is the number of the batch row, or what
// Options.Dropout.Sequences says. All of this is modulo 2^32. Philox4x32-10 has a key of two
// words, k[0] the low one of the seed and k[1] the high one, and 10 rounds. A round is
//
//	h0, l0 = the high and the low word of d2511f53·c[0]
//	h1, l1 = the high and the low word of cd9e8d57·c[2]
//	c[0..3] = h1 xor c[1] xor k[0], l1, h0 xor c[3] xor k[1], l0
//	k[0], k[1] = k[0] + 9e3779b9, k[1] + bb67ae85
//
// # Contract: attention on integers
//
// With Options.DynamicInt12, k and v are int8 or int4. Their integers are used as they are, and not
// multiplied by their scales. In their place numbers are rounded to few bits. To round numbers to b bits
// after the leading one is, with their largest magnitude a and 2^e ≤ a < 2^(e+1):
//
//	each becomes a multiple of 2^(e-b), the nearest, ties to even, and +0 where that is zero
//	all become +0 if a is below 2^-100, and NaN if a is 2^100 or more or one of them is NaN
//
// The q̂[d] of a row are rounded to 10 bits after the leading one. A group of D/G columns has one of the G scales of a key. With
// the integers k[j][d] and the scale t[j][g] of group g, a score is
//
//	a[n] = sum of q̂[d]·k[j][d] over 64 columns of the group, the last of them fewer; it is exact
//	A[g] = a[0] + a[1] + a[2] + ..., from left to right
//	s[j] = A[0]·t[j][0], and then s[j] = fma(A[g], t[j][g], s[j]) for g = 1, 2, ...
//
// The product rounds. Everything up to the weights p[j] of a block and their sum l is as above, and so are
// w. The values of a block are added up in segments of 32 keys by position, 0..31, 32..63, and so on. Of a
// segment that has a key that is not hidden, with the integers v[j][e] and the scale t[j][g] of the group of
// column e:
//
//	x[j] = p[j]·t[j][g], rounded, for the keys that are not hidden, and then rounded to 11 bits after the leading one; p after dropout
//	a[n] = sum of x[j]·v[j][e] over the keys of segment n that are not hidden; it is exact
//	o[e] = a[0] + a[1] + a[2] + ..., from left to right
//
// Why the sums are exact: 64·2^11·2^7 and 32·2^12·2^7 are 2^24. So they are the same as chains of fma,
// in any order, and as sums of integers of 32 bits that are converted once. For keys with one scale and at
// most 128 columns A is the sum over all columns, rounded once. Two segments round as their sum does.
//
// A row of keys that have a large mean in common loses nothing by it: keys are not rounded again. They lose by it when
// they are made int8, as the scale of a row is that of its largest number.
//
// # Contract: hidden keys, NaN and zeros
//
// Hidden keys and values never matter, even if they are NaN or Inf.
//
// A row that sees no key is zeros, by selection. Its weights are zeros too. Its LSE is
// -Inf, or that of the sink alone.
//
// A row of weights is NaN as a whole if l is NaN: also where a key is hidden or does not
// exist.
//
// A NaN in a visible score or value, and any NaN that arises from visible ones (from a
// score of +Inf, or as 0·Inf), makes the whole row of out NaN, and its LSE. All of these are
// the NaN 7fc00000 (7e00 in binary16, 7fc0 in bfloat16). Scores that are NaN are handed out
// as 7fc00000.
//
// Where the value of a result is exactly zero, intermediate zeros may differ in sign
// between implementations: a hidden key adds +0, which turns -0 into +0. The final
// addition of +0 makes every zero of a result +0.
//
// # Contract: what an implementation may choose
//
// Queries or keys may sit in the lanes of a vector. Rows may be cut into tiles. Blocks
// may be computed by different threads. The order of the operations on one row may not
// change. An implementation has no other freedom.
//
// This order costs no speed. With queries in the lanes, every lane is a chain of its
// own. A block needs no rescaling inside its softmax. Blocks are independent until they
// are merged.
//
// # Contract: accuracy
//
// The order bounds the error. Against float64, its root mean square is, in comparison with
// PyTorch 2.15 on the same numbers: 0.8 to 1.2 times as large on normally distributed ones
// for D from 32 to 4096 and for 32768 keys, 1.0 to 1.8 times if all numbers are positive,
// since the chains over 256 keys are longer than PyTorch's, 0.6 to 1.4 times with products of
// up to 10000, and 0.8 to 1.2 times in linear layers of 128 to 11008 inputs. The worst ratio
// of the largest errors is 2.2. "go run ./bench -accuracy" measures all of it.
//
// # Contract: backward
//
// kernel.AttentionBackward computes the scores s of visible keys again, as above, and takes LSE and
// dout, whose elements below 2^-100 in magnitude count as +0. For every row, with L = LSE·LOG2E:
//
//	p[j]  = weight(the smaller of s[j]-L and +0), NaN if s[j]-L is, or +0 if s[j] is -Inf
//	dp[j] = a[0] + a[1] + ..., a[n] = fma chain over e = 64n..min(64n+63, Dv-1), from +0: acc = fma(v[j][e], dout[e], acc)
//
// Dropout replaces dp[j] as it does with a weight. Keys that are not visible do not count from
// here on, nor those with p[j] = 0. The sums of a row are those of chains over 32 keys by
// position, 0..31, 32..63, and so on, added from left to right, beginning with +0:
//
//	l    = l + (sum of p[j], j ascending, from +0)
//	t    = t + (fma chain over j ascending, from +0: acc = fma(p[j], dp[j], acc))
//	l    = l + p of the sink, if there is one: s is float32(sink·log2 e)
//	inv  = 1/l, or +0 if l is 0
//	mean = t·inv
//	p[j] = p[j]·inv
//	b[j] = p[j]·(dp[j]-mean), or +0 if that is below 2^-100 in magnitude, the gradient of the bias
//	g[j] = b[j], or b[j]·fma(-u, u, 1) with Softcap: u = I·(s[j] after Softcap); +0 if b[j] is 0
//
// Dropout then replaces p[j]. The gradients of a query q, of a key k and of a value v are, with
// scale in natural units:
//
//	dq[d] = a·scale + (+0), a the sum of chains over 128 keys by position: acc = fma(g[j], k[j][d], acc)
//	dk[d] = a·scale + (+0), a the sum of chains over 64 rows by number: acc = fma(g, q[d], acc)
//	dv[e] = a + (+0), a the sum of chains over 64 rows by number: acc = fma(p, dout[e], acc)
//
// Chains are from +0, in ascending order, and added from left to right, beginning with +0. The rows
// of a key head are those of all queries of the G query heads that share it. Chains of 64 rows begin
// at the multiples of 64, also at -64 and below. The number of a row is i·G + g: i is the position
// of the query, and g the number of its head among the G.
//
// The gradient of an element of the bias is the sum of b of all pairs that it is added to, in the
// order of batch rows, key heads and numbers of rows, from +0. That of the sink of a head is the sum
// of -(p·inv)·mean of its rows, where p is that of the sink, p·inv is rounded, and the products and
// their sum, in the order of batch rows and queries, are binary64. The sum is rounded to binary32,
// and +0 is added.
//
// Every NaN in a gradient is 7fc00000. With Accumulate, a gradient g that is complete by all of the above is
// added to what the output holds, old + g, rounded: the sums themselves do not start from it.
//
// # Contract: additive scores
//
// The scores of kernel.Additive are sums in 16 chains. q, k and the weights are continued
// with zeros up to a multiple of 16. There is no q̂:
//
//	w[d]   = float32(float64(weights[d])·scale·log2 e), scale is 1 by default
//	acc[r] = fma chain over d = r, r+16, r+32, ..., from +0:
//	         acc = fma(w[d], tanh(q[d]+k[j][d]), acc)
//
//	acc[r] = acc[r] + acc[r+8] for r = 0..7
//	acc[r] = acc[r] + acc[r+4] for r = 0..3
//	acc[r] = acc[r] + acc[r+2] for r = 0..1
//	s[j]   = acc[0] + acc[1]
//
// Everything after the scores is as above.
//
// # Contract: steps of attention
//
// layer.Dot is attention with a scale of 1 by default. layer.Cosine is layer.Dot of the rows x/|x| of
// q and k, with the elements
//
//	x[i]·inv, rounded to binary32; inv = 1/sqrt(sum of x[i]²), or 0 if the sum is 0
//
// in binary64, with the sum in ascending order from 0 and each operation rounded.
//
// layer.General is layer.Dot of the rows q·W and k, layer.Additive is kernel.Additive of Query(q) and Key(k)
// with its V as the weights, and layer.MultiHead projects tokens, cuts them into heads side by side, and
// projects the outputs of the heads side by side: all projections are linear layers.
//
// layer.Softmax computes for a row of scores x, with top the largest x[j], or NaN if one is NaN,
//
//	p[j] = exp2((x[j]-top)·LOG2E), the difference and the product rounded to binary32
//	y[j] = p[j]/(sum of p[j]), in binary64 with the sum in ascending order from 0, rounded to binary32
//
// with exp2 as it is below, not cut at -100. The row is +0 if top is -Inf or there are no scores, and
// 7fc00000 as a whole if the sum is NaN. layer.WeightedSum adds up the products of weights and values
// in binary64, where they are exact, over the keys whose weight is not 0, in ascending order from 0, and
// rounds to binary32. A NaN is 7fc00000.
//
// # Contract: linear layers, norms and rotary positions
//
// The operations around attention in a model make the same promise.
//
// linear.Linear computes out = x·Wᵀ + b. Every output depends on one row of x and one row
// of W alone. Elements of W that are narrower are widened to binary32, and those that are
// then below 2^-126 in magnitude are +0. The chains are those of segments of 128 inputs:
//
//	a[i] = fma chain over k = 128i..min(128i+127, K-1), ascending, from +0: acc = fma(x[m][k], w[n][k], acc)
//	y    = a[0] + a[1] + a[2] + ..., from left to right; +0 if K is 0
//	out[m][n] = y + b[n], or y if there is no bias
//
// An output that is NaN is 7fc00000. An activation, if there is one, follows. Both hold for what comes
// below, too.
//
// Quantized weights of Q8_0, Q4_0 and Q4_1 have a scale d for every 32 inputs of an output, and Q4_1 has a
// minimum m, both binary16. With the integer q, -128 to 127 in Q8_0 and 0 to 15 in the others, a weight is
//
//	Q8_0:  w = fma(d, q+128, -128d)  exactly, NaN if d is infinite; a zero is +0
//	Q4_0:  w = fma(d, q, -8d)        the same
//	Q4_1:  w = fma(d, q, m)          rounded to binary32; the product is exact
//
// IQ4_NL is Q8_0, here and below, with the 16 values of q that linear.Format lists. The other formats have,
// beside d and a minimum c in binary16, an integer s for every 16 inputs, and an integer t. The products d·s
// and c·t are exact, and so is that of d·s and q:
//
//	Q6_K:  w = fma(d·s, q, -32(d·s)) exactly, q is 0 to 63
//	other: w = fma(d·s, q, -(c·t))   rounded to binary32; q has 2 to 5 bits
//
// In Q2_K, Q4_K and Q5_K c, s and t are those of the file, in Q4_K and Q5_K for every 32
// inputs. In Q3_K, with the file's scale less 32 as s, c is d and t is 4s. In Q5_0 s is 1,
// c is d and t is 16; in Q5_1 s is 1, c is the minimum of the file and t is -1. MXFP4 is as
// Q5_0, with d = 2^(e-128) and q = 2v + 16, where v is 0 if the weight, 2^(e-127)·v, is
// below 2^-126 in magnitude, and w is rounded once: it is infinite where 2^(e-127)·v is from 2^128 on.
// In a block of zeros e may be any, and d is 0. Else d is NaN if e is 255.
//
// NVFP4 has a d in E4M3 for every 16 inputs, which is multiplied by a binary32 beside the blocks, if there is one:
// that makes D, rounded to binary32. With v as in MXFP4, and a zero as +0,
//
//	NVFP4: w = D·v                   rounded to binary32
//
// linear.FromAffine has integers q of some bits, with a scale d and a zero point z for some inputs:
//
//	w = d·(q-z)                      the difference is rounded to binary32, and then the product; a zero is +0
//
// linear.QuantizeInt8 makes Q8_0 of weights, with the largest magnitude a of a block. The last block of an output
// may have fewer than 32 inputs; those that it lacks count as none, here and with Options.DynamicInt8:
//
//	d = a/127   rounded to binary32 and then to binary16
//	q = w/d     rounded to binary32 and then to an integer, ties to even, and limited to ±127; 0 if d is 0
//
// With Options.DynamicInt8 the rows of x are quantized, too, in blocks of 32 inputs. With the largest
// magnitude a of a block, every operation rounded and 1/127 as binary32, its scale and integers are
//
//	d'    = a·(1/127)    0 if a < 2^-100, NaN if the block has a NaN or an infinity
//	q'[k] = x[k]·(127/a) rounded to an integer, ties to even; 0 if d' is 0 or NaN
//
// and an output is one chain over the blocks, ascending, from +0, where o is 0 in Q8_0 and Q4_1 and 8 in Q4_0:
//
//	acc = fma(S, d'·d, acc)              S = sum of q'[k]·(q[k]-o), an integer, which is exact; d'·d is rounded
//	acc = fma(m, d'·T, acc)              for Q4_1; T = sum of q'[k], exact; d'·T is rounded
//	out[m][n] = acc + b[n], or acc if there is no bias
//
// In formats with s the chain has for each block, where o is 32 in Q6_K and else 0, with exact sums:
//
//	acc = fma(S, d'·d, acc)              S = sum of q'[k]·s·(q[k]-o)
//	acc = fma(-T, d'·c, acc)             T = sum of q'[k]·t; not in Q6_K
//
// and in NVFP4, with D[0] and S[0] of the first 16 inputs of a block of x, D[1] and S[1] of the others, exact S
// and every fma rounded:
//
//	acc = fma(fma(S[0], D[0]/2, fma(S[1], D[1]/2, +0)), d', acc)      S = sum of q'[k]·2v[k]
//
// Weights of linear.FromAffine that take 4.5 bits are those of Q4_0 here; with 6 bits they are those of Q4_K
// with c = d, s = 1 and t = z; with 7 bits those of NVFP4 with D/2 = d and 2v = q-z; with 8.5 bits those of
// Q8_0 with q-z as q.
//
// norm.RMSNorm and norm.LayerNorm normalise a row x of D numbers, with weights w and biases b:
//
//	RMS:    inv = 1/sqrt(Q/D + eps), where Q sums up x[i]²
//	        out[i] = (x[i]·inv)·w[i]
//	Layer:  y[i] = x[i] - S/D, where S sums up x[i]
//	        z[i] = y[i] - S/D, where S sums up y[i]
//	        inv = 1/sqrt(Q/D + eps), where Q sums up z[i]²
//	        out[i] = fma(z[i]·inv, w[i], b[i])
//
// The second S/D is what rounding took from the mean. It matters in rows that have a large
// mean and a small spread, where y is exact: z is 0 if the row is up to 2^14 equal
// elements, as all S of y are exact, too. Without it the result would be an error of the
// mean, divided by the root of eps.
//
// Every operation is rounded, the root and the quotients too, and D is rounded to binary32.
// Without weights w is 1, without biases b is -0, which changes nothing. A sum has 64 chains.
// Chain r takes the elements i with i mod 64 = r, in ascending order, from +0:
//
//	S: acc = acc + x[i], or y[i]    Q: acc = fma(d, d, acc), d = x[i] or z[i]
//
// Then acc[r] = acc[r] + acc[r+n] for all r < n, where n is 32, 16, 8, 4, 2 and 1. acc[0] is the
// sum. If there is a residual, it is added to x before all that, and each sum is rounded. A
// result that is NaN is 7fc00000, also a sum that is handed out.
//
// rope.Rope rotates pairs of numbers by the angle position·frequency:
//
//	y0 = x0·cos - x1·sin
//	y1 = x1·cos + x0·sin
//
// Every product is rounded before the sum. A NaN is 7fc00000. The cosine and the sine are those of
// the exact angle, rounded, in these steps:
//
//	f = frequency/(2π), in turns per position, rounded to a multiple of 2^-128, halves upwards
//	t = position·f modulo 1, which is exact
//	k = floor(4·t + 1/2), the nearest quarter of a turn
//	a = the magnitude of t - k/4, cut to its first 53 significant bits
//	x = a·401921fb54442d18 in binary64, with the sign of t - k/4
//	z = x·x
//	c = 1 - z/2! + z²/4! - ... + z⁸/16!
//	s = x·(1 - z/3! + z²/5! - ... + z⁸/17!)
//
// The two series go by Horner's rule in binary64, with the coefficients rounded, and with a rounded
// product and a rounded sum in each step, not an fma. The cosine and the sine are c and s for k mod
// 4 = 0, -s and c for 1, -c and -s for 2, and s and -c for 3, times Magnitude in binary64, and then
// rounded to binary32. The frequency of pair i is Base^(-2i/Dims)/Scaling, or a given one divided by
// Scaling, exactly. With Sections the position is that of the section that pair i is in. Narrower
// elements are widened, and y0 and y1 rounded to their type.
//
// # Contract: exp2, tanh and log2
//
// numeric.Exp2, numeric.Tanh and numeric.Log2 are these functions. A NaN stays a NaN in
// all of them. Horner's rule takes one fma per step: for c0 + r·(c1 + r·(c2 + ... +
// r·c6)) it starts with acc = c6 and goes on with acc = fma(acc, r, c5), down to c0.
//
// exp2(x) is exactly 0 below -126 and +Inf from 128 on. In between it is
//
//	2^n · (c0 + r·(c1 + r·(c2 + ... + r·c6)))
//
//	n = x rounded to an integer, ties to even
//	r = x-n, which is exact
//	c0..c6 = 3f800000 3f317218 3e75fdee 3d6357be 3c1d96f0 3aaf8418 3920b5ae
//
// with the polynomial by Horner's rule. The product with 2^n is exact. From -126 on its error is at
// most 0.80 ulp.
//
// weight(x) of attention, for x ≤ 0, is exactly 0 below -100 and else exp2(x). With weights down to
// 2^-126 the products of far keys would be subnormal, and on some CPUs an fma of these takes 100 times
// as long as others. With 2^-100 they are not, but for values below 2^-26.
//
// tanh(x) has the sign of x and the magnitude t + q, where
//
//	a = the smaller of |x| and 41103000
//	k = a·3f550000, not rounded, then rounded to an integer, ties to even: 0..7
//	r = a-c[k], which is exact
//	u = r·r
//	h = b0 + u·(b1 + u·(b2 + u·b3)), by Horner's rule
//	q = (v[k]·r) / fma(t[k], r, h)
//	t = t[k]
//
//	b0..b3  = 3f800000 3eaaaa79 bcb5d1e4 3b01b40b
//	c[0..7] = 00000000 3f9960b9 401973b4 40669340 4099a70b 40c05395 40e7034e 410aa123
//	t[0..7] = 00000000 3f5547a4 3f7bcd32 3f7f9ec0 3f7ff727 3f7fff36 3f7fffee 3f7fffff
//	v[0..7] = 3f800000 3e9c9f6a 3d053fb8 3b425b0e 398d8d8e 37c9ffb0 360ffffb 34000000
//
// This is the addition theorem for tanh(c+r), with t = tanh c, v = 1-t² and h = r/tanh r.
// Over all floats its error is at most 1.85 ulp. ±0 and tiny numbers stay as they are,
// and from ±9.0110 on the result is ±1.
//
// log2(x) of a positive number x = m·2^e is
//
//	fma(f, d0 + f·(d1 + f·(d2 + ... + f·d9)), e)
//
//	f = m-1, which is exact
//	d0..d4 = 3fb8aa3b bf38aa3c 3ef637fa beb8a994 3e93d2e3
//	d5..d9 = be767a03 3e4e8a17 be3377f7 3e501dd4 be405761
//
// with the polynomial by Horner's rule. e is the integer for which the bits of m are from
// 3f2aaaab to 3faaaaaa, so that m is in [2/3, 4/3). This holds for subnormal x too. log2
// is -Inf for ±0, +Inf for +Inf and NaN below 0. Over all floats its error is at most
// 1.66 ulp.
//
// # Contract: Hadamard transform
//
// numeric.Hadamard transforms blocks of n elements, n a power of two:
//
//	y[i] = x[i]·float32(1/√n), rounded; 1/√n in binary64
//	for h = 1, 2, 4, ..., n/2, for each i whose bit h is not set: y[i], y[i+h] = y[i] + y[i+h], y[i] - y[i+h], each rounded
//
// A NaN becomes 7fc00000.
//
// # Contract: activations
//
// The functions of package activation are these. A NaN stays a NaN in all of them. p(r) is
// the polynomial of exp2, c0 + r·(c1 + ...), by Horner's rule.
//
// SiLU(x), which is x/(1+e^-x), is y:
//
//	z = the larger of x and c2dc0000
//	c = the smaller of z and 41f00000
//	n = c·bfb8aa3b, not rounded, then rounded to an integer, ties to even
//	r = fma(c, b2a57060, fma(c, bfb8aa3b, -n))
//	h = n/2, rounded down to an integer
//	y = z / (2^-h + p(r)·2^(n-h)) · 2^-h
//
// Each operation of y rounds, from left to right, but for the product of p(r) and a power of
// 2, which is exact. Over all floats its error is at most 2.39 ulp.
//
// GELUTanh(x), which is x/2·(1 + tanh(sqrt(2/π)·(x + 0.044715·x³))) = x/(1+2^t), with t =
// c·(u+v), is the y of SiLU with other z, c, n and r:
//
//	z = the larger of x and c12e6666
//	c = the smaller of z and 40c00000
//	s = c·c
//	e = fma(c, c, -s)
//	u = fma(s, bdd2d3e8, c0135760)
//	v = fma(e, bdd2d3e8, fma(s, 310a8d56, fma(s, bdd2d3e8, c0135760 - u))) + b486f39d
//	n = c·u, not rounded, then rounded to an integer, ties to even
//	r = fma(c, v, fma(c, u, -n))
//
// Over all floats its error is at most 2.34 ulp.
//
// GELU(x), which is x·Φ(x) with the normal distribution function Φ, is y:
//
//	c = x, but not below c1666666 and not above 40c00000
//	a = |c|
//	s = a·a
//	e = fma(a, a, -s)
//	n = s·bf38aa3b, not rounded, then rounded to an integer, ties to even
//	r = fma(e, bf38aa3b, fma(s, b2257060, fma(s, bf38aa3b, -n)))
//	i = (the bits of fma(a, 3fa09cea, 3f9a8279) - 3f9a8279)/2^22, rounded down: 0..7
//	d = a-c[i]
//	T = t0[i] + d·(t1[i] + d·(t2[i] + ... + d·t6[i])), by Horner's rule
//	m = +0 if x < 0, else x
//	y = fma(-T, p(r)·2^n, m)
//
//	c[0..7] = 00000000 3f2e4a17 3fae61e6 401484a2 406c3827 40b30e31 41050e21 41433670
//	t0[0..7] = 00000000 3e59fb84 3e98b188 3eb231d3 3ebfbdf4 3ec64702 3ec96cad 3ecae9be
//	t1[0..7] = 3f000000 3e3e7545 3da751b2 3d027030 3c3812ec 3b7bf105 3aa79641 39dd7cbd
//	t2[0..7] = becc41ed bdfb66ec bd389250 bc64a81c bb735030 ba72e082 b965655d b8545248
//	t3[0..7] = 3e7fef6c 3d856371 3ca6f38e 3ba7e8da 3a897551 394b38b6 3809a63d 36b37e2f
//	t4[0..7] = be0769be bcf448f1 bc043e5c badbba97 b98ca690 b81c4d54 b699481a b50d64d1
//	t5[0..7] = 3d70308e 3c4bdd1d 3b432920 3a09540c 388d92da 36f18d91 352e2774 33658a63
//	t6[0..7] = bc8b8d3a bb9aedf1 ba82f329 b918d8cd b7820b21 b5a6aed1 b3b1ca7f b1ac238b
//
// The product of p(r) and 2^n is exact unless it is subnormal, where it is rounded once.
// This is max(x, 0) - T·e^(-x²/2). Over all floats its error is at most 2.77 ulp.
//
// The errors hold where the result is tiny or subnormal, too. A result has the sign of x,
// also if it is 0. It is -0 for -Inf and +Inf for +Inf.
//
// SwiGLU, GeGLU and GeGLUTanh are the products, rounded, of these three functions of an
// element of gate with an element of up.
//
// # Contract: gradients of layers
//
// Every gradient is a function of the arguments of its call alone, down to the last bit. A result
// that accumulates starts from what its memory holds, and any other one from +0. Added when they are complete
// are the gradients of kernel.AttentionBackward, and those of queries and keys of layer.Cosine, General and Additive. Where there is nothing to
// add, because there are no rows or no query sees a key, +0 is added: so no result that accumulates keeps a
// NaN that is not 7fc00000, nor -0 without a summand of -0. linear.AddRows alone leaves the rows that it does
// not name as they are. (To start from the first
// summand instead would change nothing but -0 into +0.) A NaN in a result is 7fc00000, except in
// those of package activation.
//
// linear.Product(a, b) is the y of a linear layer with the inputs a and the weights b, none
// of which becomes +0, and of linear.Backward X is Product(dy, wᵀ) and W is
// Product(dyᵀ, xᵀ): chains of fma for segments of 128 columns of dy, or of 128 rows. Without Accumulate
// the first segment's sum is taken as it is. The gradient of a bias has segments of 32 rows
// and groups of 32 segments:
//
//	a[i] = sum of dy[m][n] over m = 32i..min(32i+31, M-1), ascending, from +0
//	b[k] = a[32k] + a[32k+1] + ... + a[32k+31], from left to right, as far as there are segments
//	Bias[n] = b[0] + b[1] + b[2] + ..., from left to right
//
// linear.AddRows adds one row after the other.
//
// kernel.AdditiveBackward takes dout as attention does, with +0 below 2^-100. It cuts the
// queries of a query head into blocks of 256 by their index, and the keys that a query
// sees, those with p[j] ≠ 0, into blocks of 256 by theirs. With t = tanh(q[d] + k[j][d]),
// the sum rounded, and u = (1-t)·(1+t), each operation rounded, a query has
//
//	dp[j] = a[0] + a[1] + ..., a[n] = fma chain over e = 64n..min(64n+63, Dv-1) from +0: acc = fma(v[j][e], dout[e], acc)
//	mean  = sum of p[j]·dp[j] over the keys that it sees, ascending, in binary64, then rounded
//	x[j]  = y·scale, y = p[j]·(dp[j] - mean), or +0 if that is below 2^-100 in magnitude
//	g[d]  = sum over its blocks of keys, ascending, from +0, of the fma chain from +0: acc = fma(x[j], u, acc)
//	h[d]  = the same with t in the place of u
//	Q[d]  = g[d]·weights[d]
//
// To each gradient, +0 is added first. A block of queries adds to the gradients, in the order of query heads and of blocks, to those of
// K and V only for keys that one of its queries sees
//
//	V[j][e] = fma chain over all of its queries i from +0: acc = fma(p[i][j], dout[i][e], acc), where a
//	          dout that is NaN or infinite counts as +0 if p is 0
//	K[j][d] = weights[d]·(sum of x[j]·u over the queries that see the key, from +0, each product rounded)
//	Weights[d] = sum of h[d] over the queries, from +0; these sums are added up for each key head, from
//	          +0, and then those of the key heads
//
// norm.RMSNormBackward and norm.LayerNormBackward compute for a row, with size = D and each operation
// rounded to binary32 where nothing else is said
//
//	y[i]   = the z[i] of norm.LayerNorm for LayerNormBackward, else x[i]
//	inv    = 1/sqrt(sum(y[i]·y[i])/size + eps), all in binary64, then rounded
//	y[i]   = y[i]·inv
//	g[i]   = dy[i]·weight[i]
//	center = sum(g)/size for LayerNormBackward, else 0; the sum and the quotient in binary64, then rounded
//	slope  = sum(g[i]·y[i])/size, in binary64, then rounded
//	X[i]   = ((g[i]-center) - y[i]·slope)·inv, and then + Direct[i], if there is one
//
// A call with Direct for which X is not wanted is an error.
//
// These sums are in binary64, where the products are exact, in 8 chains: chain r takes the elements i
// with i mod 8 = r, in ascending order, and then the sums of halves. The gradients of weight and bias
// have segments of 32 rows, numbered as in [B, H, L], and groups of 32 segments, as that of a bias of
// a layer has. In a segment they are the sums of dy[i]·y[i], rounded, and of dy[i], from +0. Each sum of
// segments and of groups starts from +0, too.
//
// layer.SoftmaxBackward and layer.WeightedSumBackward are computed in binary64, with sums in ascending
// order, those over queries one head after the other, and rounded once.
//
// The method Backward of layer.Dot, General, Additive and MultiHead is composed of these gradients, of
// kernel.AttentionBackward or kernel.AdditiveBackward and of those of linear layers, as its
// documentation says. The rows of General and Additive are numbered as in [B, H, L], those of MultiHead
// as in [B, L]. Gradients of query, key and value that are one tensor are added up in this order, by
// Accumulate. For layer.Cosine, with dy the gradient of x/|x| by layer.Dot, see "Contract: steps of
// attention", it is
//
//	dx[i] = (dy[i] - x[i]·(sum(x[i]·dy[i])/sum(x[i]²)))·(1/sqrt(sum(x[i]²)))
//
// in binary64, with sums in ascending order from 0, in which products are exact, each operation
// rounded, and the result rounded once. It is +0 where the sum of squares or all of dy is 0.
//
// The gradients of activations are dy·s, rounded, with the slope s, which is 0 for x < -100 and 1 for
// x > 100. In between, with y/x = 1/2 for x = 0 and each operation rounded, it is
//
//	SiLU:      (y/x)·(1 - SiLU(-x)), y = SiLU(x)
//	GELU:      y/x + x·(exp2((x·x)·bf38aa3b)·3ecc422a), y = GELU(x)
//	GELUTanh:  (y/x)·(1 - GELUTanh(-x)·(3fcc422a + (x·x)·3e5b33b6)), y = GELUTanh(x)
//
// and the gradients of gated ones are (dy·up)·s and dy·y, with gate in the place of x.
// activation.TanhBackward is dy·((1-y)·(1+y)) and SigmoidBackward dy·((1-y)·y), each operation
// rounded.
//
// activation.GRU and GRUBackward round each operation of
//
//	r     = sigmoid(in_r + hidden_r)
//	z     = sigmoid(in_z + hidden_z)
//	c     = tanh(in_c + r·hidden_c)
//	state = c + (state - c)·z
//
// and, with d the gradient of the state after it and before the state before it, of
//
//	dc = (d·(1 - z))·((1 - c)·(1 + c))
//	dz = (d·(before - c))·((1 - z)·z)
//	dr = (dc·hidden_c)·((1 - r)·r)
//	d  = d·z
//
// The gradient of in is dr, dz and dc, and that of hidden is dr, dz and dc·r. In these, sigmoid(x) =
// 1/(1+e) for x ≥ 0 and e/(1+e) for x < 0, e = exp2(-|x|·LOG2E).
//
// # Contract: training
//
// loss.CrossEntropy computes for a row x of logits and its target t, with n rows that count
//
//	top  = the largest x[j]; a NaN is passed over
//	p[j] = exp2((x[j]-top)·LOG2E), the difference and the product rounded
//	S    = sum of p[j] in 64 chains, as the S of a norm
//	d[j] = (p[j]·inv)·g, or (p[j]·inv - 1)·g for j = t, with inv = 1/S and g = 1/float32(n)
//	loss = (top - x[t]) + log2(S)·LN2
//
// If S is NaN, all d[j] and the loss are 7fc00000. Of a row that does not count, d is +0. The mean
// is that of the losses in binary64, added up in the order of the rows from 0 and divided by n, and
// rounded. Without a row that counts it is 0, and a NaN is 7fc00000.
//
// optimize.AdamW.Step rounds each operation of
//
//	m = m + c1·(g-m)
//	v = b2·v + (c2·g)·g
//	w = w·keep - rate·(m/(sqrt(v)/root + epsilon))
//
// with the new m and v in the last line. A new m, v or w below 2^-126 in magnitude is +0:
// else the means of a weight that gets no gradient any more, and a weight that decays,
// would stay subnormal for ever. The factors are computed in binary64 and rounded: keep = 1
// - Rate·WeightDecay, c1 = 1-Beta1, b2 = Beta2, c2 = 1-Beta2, root = sqrt(1-Beta2^step) and
// rate = Rate/(1-Beta1^step). A power is the product of repeated squares of its base, in
// the order of the bits of the exponent, the lowest first. Settings with Rate·WeightDecay
// above 1 are an error.
//
// optimize.ClipNorm sums up squares in binary64, where they are exact: for each slice in 8 chains, chain
// r taking the elements i with i mod 8 = r, then the sums of halves as in a norm, then those of the
// slices. root is the square root of that. The norm is root, rounded to binary32. If it is finite
// and root, not rounded, is above most, each gradient is multiplied by most/root, which is rounded
// once. Else the gradients stay as they are.
//
// # Contract: sampling
//
// decoder.Sampler, in module models, chooses the token that follows a text from a row of n logits x, none of them
// NaN or +Inf. First it changes the logits of the tokens that occur N > 0 times among the last PenaltyWindow tokens of the
// text, or in all of it if that is 0. The penalties are rounded to binary32, and so is each operation:
//
//	x = x/RepetitionPenalty if x > 0, else x·RepetitionPenalty; not if it is 0
//	x = x - (N·FrequencyPenalty + PresencePenalty)
//
// With a Temperature of 0 the token is the first of those with the largest logit, top. Otherwise
//
//	c    = float32(log2 e/Temperature), the quotient in binary64
//	p[j] = exp2((x[j]-top)·c), the difference and the product rounded
//
// Tokens are left, in an order, by TopK and then by TopP. With k the smaller of TopK and n, S the sum of all p and
// tokens that are equal in the order of their numbers:
//
//	0 < k ≤ 256: the first k by x, the largest first
//	256 < k < n: the first k by p, the largest first
//	else, 0 < TopP < 1: those with p[j] ≥ least by p, the largest first
//	                    least = float32((1-TopP)·S/n), or 0 if TopK is not 0
//	else: all, by their numbers
//
//	0 < TopP < 1: the fewest of these, from the first, whose sum of p is at least TopP·(R + rest), or all
//	              R is the sum of p of those that are left, rest = float32(S-R), or 0 if TopK is not 0 or S < R
//
// Sums are in binary64, in the order of the tokens, from 0, and each operation is rounded. With MinP the p of tokens
// with x[j]-top < L, the difference rounded, becomes 0: L is ln(MinP) rounded to binary32, but not above 0. In binary64, each
// operation rounded, with MinP = m·2^e, m from 1/2 to below 1:
//
//	ln(MinP) = 2·(t + t³/3 + t⁵/5 + ... + t⁵⁹/59) + e·3fe62e42fefa39ef
//	t = (m-1)/(m+1); a power is the product of the one before and t·t; the sum is from 0, from left to right
//
// With P the sum of p of the tokens that are left, and the next word W of the random numbers, at = ((W/2^11 rounded down)·2^-53)·P.
// The token is the first, of those with p ≠ 0, up to which p add up to more than at, or the last. The words of a Seed
// are those of PCG-DXSM, one for each token. With the state s = Seed·2^64, modulo 2^128, each begins with
//
//	s = s·2360ed051fc65da44385df649fccf645 + 5851f42d4c957f2d14057b7ef767814f
//	h, l = the high and the low 64 bits of s
//
// and is h after these steps, modulo 2^64:
//
//	h = h xor h/2^32, h = h·da942042e4dd58b5, h = h xor h/2^48, h = h·(l or 1)
package contract
