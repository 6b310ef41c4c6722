// Package layer computes attention in the terms of papers and courses: step by step,
// with a choice of similarities, with masks in which 1 hides, and as the multi-head
// module with its projections. It is built on package kernel, and has its speed and its
// options.
//
// # Attention in four steps
//
// Attention is a lookup in which every entry counts as much as it matches. Every token
// has a query, a key and a value. A query is compared with all keys, and the result is
// the mean of all values, weighted by how well their keys match:
//
//	out = softmax(similarity(q, k))·v
//
// These are the steps:
//
//  1. [linear.Linear.Project] computes the query, the key and the value of every token.
//  2. [Scores] compares every query with every key.
//  3. [Softmax] turns the scores of each query into weights that sum to 1.
//  4. [WeightedSum] adds up the values, each times its weight.
//
// The functions for steps 2 to 4 are for learning, and for looking at the scores and the weights.
// Programs call the method Attend of a [Similarity], which does steps 2 to 4 at once, or Attend of
// a [MultiHead], which does all four. They are many times faster and never hold all scores in
// memory.
//
// # Overview
//
//   - Similarities: [Dot], [ScaledDot], [General], [Additive] and [Cosine], and [Func] for your
//     own.
//   - Masks for kernel.Options.Mask: [PaddingMask], [PaddingTokenMask] and [HiddenMask]. The
//     look-ahead mask of a decoder is kernel.Causal(0). [kernel.Mask.And] joins two of them.
//   - The module: [MultiHead]. [FromTorch] makes one from PyTorch's weights.
//   - Gradients: [SoftmaxBackward] and [WeightedSumBackward] of the steps, the methods Backward of
//     similarities, and [MultiHead.Forward] with [MultiHead.Backward]. There is no tape: whatever a
//     gradient needs of the forward pass is an argument, in memory of the caller's.
//
// # Tensors
//
// A [kernel.Tensor] is a view of a slice of yours. Its shape is [B, H, L, D]: batch rows,
// heads, tokens, and the numbers of a token in a head. These are views of other layouts:
//
//	[B, H, L, D]  kernel.BHLD(data, b, h, l, d)
//	[B, L, H·D]   kernel.BLHD(data, b, l, h, d)  the heads of a token side by side
//	[B, L, W]     kernel.BLHD(data, b, l, 1, w)  tokens without heads, W numbers each
//	[L, W]        kernel.BHLD(data, 1, 1, l, w)  one text without heads
//
// In the shapes below, Lq is the number of queries, Lk the number of keys and of values,
// Hkv the number of key heads and of value heads, and Dv the head size of the values.
//
// # The same bits everywhere
//
// As in package kernel, results have the same bits on every CPU, with any tier and any
// number of threads.
package layer
