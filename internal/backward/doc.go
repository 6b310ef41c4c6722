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
// The mean is also the sum of O∘dO, but the rounding of O would double the error of dQ. Dividing by
// the sum removes the error of LSE. P and dP are kept for the second pass if there are at most
// keptKeys of them, and computed again otherwise.
//
// A task has one segment of a KV head, or two that go through the blocks side by side. A segment adds
// to dK and dV block by block, and the first one sets them. Before each block it waits until the
// segment before it has added to that block. Tasks are numbered so that with several threads it
// seldom has to wait.
package backward
