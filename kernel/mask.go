package kernel

import "github.com/attn-go/attn/internal/mask"

// Mask tells which keys a query may see. It is a value: build it once or per call,
// nothing is allocated. The zero Mask hides nothing. And intersects masks.
//
// Masks are stated in positions: query i of batch row b has position
// Options.QueryStart[b] + i, and key j has position Options.KeyStart[b] + j; both
// start at 0 by default. Lengths, ids and bitmaps count the queries and keys of the
// call.
//
// A hidden key or value never matters, even if it is NaN or Inf. Masks made of spans
// ([Causal], [Window], [PrefixLM], [KeyLengths], [QueryLengths], [Segments]) and
// [BlockSparse] cost nothing for blocks of 256 keys that are hidden from, or visible
// to, all queries of a tile; keys that no query sees are not read. [Visible] and
// [Hidden] look at every score. A row that sees no key gives zeros.
type Mask mask.Mask

// And returns the mask that hides what m or n hides. It holds at most 6 masks made of
// spans, 2 of [Visible] and [Hidden], and one [BlockSparse]; more of them are an error
// of the call.
func (m Mask) And(n Mask) Mask { return Mask(mask.Mask(m).And((*mask.Mask)(&n))) }
