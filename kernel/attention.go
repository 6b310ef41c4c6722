package kernel

// Contract is the version of the numeric contract (see the package
// documentation): whoever changes a bit of any result raises it.
const Contract = 1

// blockKeys is the number of keys in a block of the contract: keys are cut by
// their absolute position, and blocks are folded in order.
const blockKeys = 256

// Attention computes out = softmax(q·kᵀ·scale, masked)·v, head by head:
//
//	q   [B, H, Lq, D]     queries
//	k   [B, Hkv, Lk, D]   keys; Hkv divides H (GQA, MQA): query head h uses key head h/(H/Hkv)
//	v   [B, Hkv, Lk, Dv]  values; may share memory with k
//	out [B, H, Lq, Dv]    is overwritten; from its first element to its last
//	                      it shares no memory with the others
//
// Each may have its own element type; q and out are not int8. Computed is in
// float32.
//
// Any D and Dv ≥ 1 and any other dimension ≥ 0 is valid. A row that sees no key
// is zeros; a NaN that a row can see, or that arises in it, makes the whole row
// NaN, with the same bits always.
//
// A row's bits depend on that row, on the keys and values it sees and on the
// scale, and on nothing else: not on tier, threads, batch or tiling (see the
// package documentation).
//
// The call allocates nothing once warm and may be made from many goroutines at once.
// Those that helped it end soon, see [Options]. Its workspace is O(threads), never
// O(Lq·Lk).
//
// Bad input gets an [*ArgumentError] or [*TierError], and out stays untouched.
func Attention(out, q, k, v Tensor, opts Options) error {
	t, err := tierFor(opts.Tier)
	if err != nil {
		return err
	}
	if err := validate(&out, &q, &k, &v, &opts); err != nil {
		return err
	}
	if q.shape[0] == 0 || q.shape[1] == 0 || q.shape[2] == 0 {
		return nil
	}
	j := jobs.get()
	j.problem.set(&out, &q, &k, &v, &opts)
	j.solve(t, &opts)
	return nil
}
