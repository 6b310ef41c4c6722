// Package layer is what people look for who know attention from papers, books and
// courses: the steps by name, similarities, masks that hide with 1, additive attention
// and the multi-head module. All of it runs on package kernel, with its speed, its
// numeric contract and its options.
//
// # Four steps
//
// Attention is a lookup by likeness. A query asks, keys are compared with it, and the
// values of the keys that match best make most of the answer:
//
//  1. every token gives a query, a key and a value ([linear.Linear])
//  2. [Scores]: how well does each key match the query?
//  3. [Softmax]: the scores become weights that sum up to 1, by a softmax
//  4. [WeightedSum]: the answer is the sum of the values, each times its weight
//
// These functions are for reading, and for looking at what is in between. A program
// calls a [Similarity], which does the last three at once and never holds the scores of
// more than some keys.
//
// # Tensors
//
// Everything is a [kernel.Tensor], a view [B, H, L, D] of float32 that stays the
// caller's: batch rows, heads, tokens, numbers of a token in a head.
//
//	4D  [B, H, L, D]    kernel.BHLD(data, b, h, l, d)
//	3D  [B, L, H·D]     kernel.BLHD(data, b, l, h, d): the heads of a token side by side
//	3D  [B, L, W]       kernel.BLHD(data, b, l, 1, w): no heads, as before a projection
//	2D  [L, W]          with a batch of 1
//
// # Bits
//
// Like kernel, all of this gives the same bits on every CPU, tier and number of
// threads.
package layer
