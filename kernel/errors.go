package kernel

import "fmt"

// ArgumentError reports an argument that a call cannot work with. The call has
// changed nothing. Find it with errors.As.
type ArgumentError struct {
	Arg  string // the argument: "out", "q", "k", "v", "Options.Scale", ...
	Got  string // what was given: shape and strides, length or value
	Want string // what was expected
}

func (e *ArgumentError) Error() string {
	return fmt.Sprintf("attn: %s: got %s, want %s", e.Arg, e.Got, e.Want)
}

// TierError reports a tier that was asked for, by Options.Tier or the
// environment variable ATTN_TIER, and that does not exist or cannot run on this
// CPU. The call has changed nothing: no other tier takes over silently.
type TierError struct {
	Tier   string // the name asked for
	Source string // "Options.Tier" or "ATTN_TIER"
	Reason string // that it is unknown, with the tiers that are known, or what the CPU lacks
}

func (e *TierError) Error() string {
	return fmt.Sprintf("attn: %s: tier %q: %s", e.Source, e.Tier, e.Reason)
}
