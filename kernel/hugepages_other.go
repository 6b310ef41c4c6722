//go:build !linux

package kernel

// A mapping is memory outside of Go's heap: only on Linux.
type mapping struct{ bytes []byte }

// mapPages returns nil: what is beside Go's heap is not known here.
func mapPages(int) *mapping { return nil }

func (*mapping) unmap() {}
