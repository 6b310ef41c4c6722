// Package backward computes the gradients of one call of attention, from plan to result.
//
// Keys are cut into blocks of KeyBlock by position, the rows of a KV head into segments of
// RowSegment. Scores are computed again, with the kernels of the forward pass; LSE turns
// them into weights. With S, P, dP and dS as [keys][rows], a segment and a block take five
// products:
//
//	S  = K·Q̂ᵀ          P  = exp2(S - LSE)
//	dP = V·dOᵀ         dS = P∘(dP - D), D = rows of dO·rows of O
//	dV += P·dO         dK += dS·Q          dQ += dSᵀ·K
//
// A task has some blocks of one KV head and goes through all segments, so that dK and dV stay
// in its scratch memory. Tasks of the same KV head add to dQ in the order of their keys: each
// waits, segment by segment, for the one before it. Tasks are numbered so that it has nearly
// always been done long ago.
package backward
