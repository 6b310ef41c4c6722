package kernel

import (
	"fmt"
	"time"
	"unsafe"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/hugepages"
	"github.com/attn-go/attn/internal/parallel"
)

// ReleaseMemory frees the scratch memory that calls of this module have left for calls to
// come, so that the next garbage collection takes it. Other goroutines may call anything
// meanwhile: what a running call uses is not touched. The next calls allocate anew.
//
// There is seldom need for it. Calls take scratch memory for their threads, and split-KV
// and package layer take more. It is recycled: in the steady state, where calls repeat,
// they allocate nothing. Memory that no call has needed for three to seven garbage
// collections is freed in any case, and no more than 256 MiB are kept.
func ReleaseMemory() { parallel.Release() }

// SetSpin sets how long a worker of the pool spins for the next call after it has worked
// on one, and how long a call spins for its last tasks, before they park. It returns the
// duration before. A negative d changes nothing. It is a setting of the whole program, not
// of a call, as all calls share the pool, and may be made at any time.
//
// The default is 50 µs. The environment variable ATTN_SPIN is another one: "off", or a
// duration as [time.ParseDuration] reads it. Anything else means the default, and attn.Report
// names it.
//
// What it gains: waking a parked worker takes 5 µs, and on a virtual machine 50 µs and
// more. Calls of 10 µs and more that follow each other within d find their workers awake
// and use more threads.
//
// What it costs: up to d of CPU time for each worker after a call that no other follows.
// That counts where CPU time is rationed or paid for, as in containers with a quota: 0
// turns spinning off. More than 4 ms has no effect, as workers park from time to time in
// any case. A worker that spins yields to other goroutines, and parks at once if these
// need its processor.
//
// OpenMP's KMP_BLOCKTIME, which is 200 ms by default, and ONNX Runtime's allow_spinning
// are settings of the same kind.
func SetSpin(d time.Duration) (previous time.Duration) { return parallel.SetSpin(d) }

// KeepSpinning announces that calls will follow each other for d, at most 4 ms. Until then workers
// and calls spin, where otherwise they would park after the time of [SetSpin]. It is for programs
// with many small calls in a row, such as a step of a language model: call it before every few of
// them, with d some times the longest pause between two calls that use several threads. A later
// KeepSpinning replaces an earlier one. It does nothing where spinning is off. It costs the CPU
// time of workers in the pauses.
func KeepSpinning(d time.Duration) { parallel.KeepSpinning(d) }

// Alloc returns n zeros for the data of tensors, in huge pages if they are 4 MiB or more and
// the operating system has such pages, as package kvcache has its keys and values. One core
// reads data that is not in its caches about 40% faster from there. It is an ordinary slice
// otherwise: the garbage collector takes it when nothing refers to it.
//
// The error is an [*Error] if n is negative. It has the kind [ErrMemory] if the system does not
// have the memory, or GOMEMLIMIT does not allow it.
func Alloc[E Element](n int) ([]E, error) {
	if n < 0 {
		return nil, &Error{Where: "kernel.Alloc: n", Got: fmt.Sprint(n), Want: "0 or more"}
	}
	if !hugepages.Fits(n, int(unsafe.Sizeof(*new(E)))) {
		return nil, (*Error)(check.TooLarge("n", fmt.Sprint(n)).In("kernel.Alloc"))
	}
	return hugepages.Make[E](n), nil
}
