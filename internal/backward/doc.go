// Package backward computes the gradients of one call of attention, from plan to result.
//
// The rows of a KV head are cut into segments of RowSegment, keys into blocks of KeyBlock, both
// by position. Scores are computed again, with the kernels of the forward pass. With S, P,
// dP and dS as [keys][rows], a segment goes through the blocks twice:
//
//	S = K·Q̂ᵀ, dP = V·dOᵀ, P = exp2(S - LSE), with the sums of P and P∘dP of each row
//
//	P = P/sum, dS = P∘(dP - mean), where mean is the sum of P∘dP over that of P
//	dV += P·dO, dK += dS·Q, dQ += dSᵀ·K
//
// The mean could also be had from O, which is the sum of P·V, but its rounding would double the
// error of dQ; and dividing by the sum removes that of LSE. P and dP are kept for the second
// pass if there are at most keptKeys of them, and computed again otherwise.
//
// A task has one segment of a KV head. It adds to dK and dV block by block, each after the
// segment before it has done so: tasks are numbered so that with several threads this has nearly
// always happened long ago.
package backward
