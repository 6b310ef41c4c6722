package network

import (
	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/tensors"
)

// latent reads attention over latents.
func (b *builder) latent(i int, t *arch.Latent) *Latent {
	w, queries := b.model.Width, t.Heads*(t.Plain+t.Turned())
	a := &Latent{
		Attention: Attention{
			Heads: t.Heads, KVHeads: 1, Size: t.Size, InKeys: t.Rank, Still: t.Rank, Rope: b.rope(t.Rope), Scale: t.Scale,
			Window: t.Window, BothWays: b.model.BothWays, Out: b.Linear(tensors.Writes, part(i, "attn_output", t.OutBias, w, t.Heads*t.Values)),
		},
		KeyValue: b.Linear(tensors.Reads, part(i, "attn_kv_a_mqa", t.Bias, t.Size, w)), LatentNorm: ReadNorm(t.Norm, b.Reader, at(i, "attn_kv_a_norm"), t.Rank),
		Plain: t.Plain, Head: t.Values,
	}
	if n := t.QueryRank; n > 0 {
		a.QueryRank, a.QueryNorm = b.Linear(tensors.Reads, part(i, "attn_q_a", t.Bias, n, w)), ReadNorm(t.Norm, b.Reader, at(i, "attn_q_a_norm"), n)
		a.Query = b.Linear(tensors.Inner, part(i, "attn_q_b", arch.Absent, queries, n))
	} else {
		a.Query = b.Linear(tensors.Reads, part(i, "attn_q", arch.Absent, queries, w))
	}
	for h := 0; h < t.Heads && b.Err() == nil; h++ {
		a.Keys = append(a.Keys, b.Linear(tensors.Inner, head(i, "attn_k_b", t.Heads, h, t.Rank, t.Plain)))
		a.HeadValues = append(a.HeadValues, b.Linear(tensors.Inner, head(i, "attn_v_b", t.Heads, h, t.Values, t.Rank)))
	}
	return a
}

// head returns the matrix of a head, of a tensor with the matrices of all heads.
func head(i int, name string, heads, head, n, k int) tensors.Part {
	p := part(i, name, arch.Absent, n, k)
	p.Shape, p.First, p.Rows = []int{heads, n, k}, head*n, n
	return p
}
