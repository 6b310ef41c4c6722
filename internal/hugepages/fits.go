package hugepages

import (
	"math"
	"runtime/debug"

	"github.com/attn-go/attn/internal/ints"
)

// certain is the size in bytes that Fits does not ask the system about: every program that
// uses these packages needs more.
const certain = 16 << 20

// Fits tells whether a program can allocate n elements of size bytes each. It cannot if that
// is more than the memory limit of the program (GOMEMLIMIT), or than the system gives to a
// program. An allocation that the system refuses ends the program, and nothing can recover
// from that: so whoever allocates as much as an argument says, asks first.
//
// A system that promises more than it has, as Linux does, refuses what can never fit. What
// would fit if no other program ran, it grants.
func Fits(n, size int) bool {
	bytes := ints.MulSat(n, size)
	if bytes <= certain {
		return bytes >= 0
	}
	// Beside the elements the runtime takes memory to align them and to keep track of them.
	all := ints.AddSat(bytes, bytes/128+2*hugePage)
	return all < math.MaxInt && int64(bytes) <= debug.SetMemoryLimit(-1) && offers(all)
}
