package tier

import (
	"flag"
	"fmt"
	"runtime/debug"

	"github.com/attn-go/attn/internal/testutil"
)

// every tells checkKernel to make all calls, or those that are sampled if tests are thinned.
const every = 1

var oneOf = flag.Int("one-of", 1, "make one call in so many that a test of kernels would make")

// checkKernel makes every call of a kernel, or one in so many, with the reference and with p, with
// p on slices in each of mems, and returns the first difference: in the content of an argument
// afterwards, input or output, or in the canaries around it. An access to a guard page or any other
// panic is an error too. If tests are thinned, a call has its slices in a single arena.
func checkKernel(p *kernelSet, kernel string, one int, mems ...*testutil.Arena) error {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	calls, sampled := callsOf(kernel, p.Lanes), 0
	for i, c := range calls.cases {
		if i%one != 0 || testutil.Thin() && !testutil.Sampled(i/one) {
			continue
		}
		if sampled++; sampled%*oneOf != 1%*oneOf {
			continue
		}
		for _, got := range placesOf(i, mems) {
			err := panicked(prepare(got, c, i, p.Lanes), p)
			if err == nil {
				err = calls.check(i, got)
			}
			if err != nil {
				return fmt.Errorf("case %d, %v, slices %v: %w", i, c, got.Place, err)
			}
		}
	}
	return nil
}

// placesOf returns where call number i has its slices: in each of mems, or in a single one if tests
// are thinned.
func placesOf(i int, mems []*testutil.Arena) []*testutil.Arena {
	if !testutil.Thin() {
		return mems
	}
	r := testutil.Rand(^i)
	r.Uint64() // which Sampled takes
	x := r.IntN(len(mems))
	return mems[x : x+1]
}

// A callList is the calls of a kernel on tiles of some width. All tiers, variants, places of slices
// and mutants make the same ones, so the reference makes each once and leaves a hash.
type callList struct {
	cases  []kernelCase
	lanes  int
	ref    *kernelSet
	hashes map[int]uint64 // by case: of all slices after the reference's call
}

var (
	callLists = map[string]*callList{}
	afterRef  = newArena()
)

// callsOf returns the calls of a kernel on tiles of w lanes.
func callsOf(kernel string, w int) *callList {
	name := fmt.Sprint(kernel, " ", w)
	if callLists[name] == nil {
		callLists[name] = &callList{casesOf(kernel)(w), w, reference(w), map[int]uint64{}}
	}
	return callLists[name]
}

// casesOf returns what makes the cases of a kernel.
func casesOf(kernel string) func(w int) []kernelCase {
	for _, k := range kernelTests {
		if k.name == kernel {
			return k.cases
		}
	}
	panic("no kernel " + kernel)
}

// check compares the slices after call number i with what the reference's call leaves. If the
// hashes differ, it compares the bytes: NaNs of other bits may be right.
func (l *callList) check(i int, got *testutil.Arena) error {
	want, known := l.hashes[i]
	if known && got.Hash() == want {
		return got.Margins()
	}
	prepare(afterRef, l.cases[i], i, l.lanes)(l.ref)
	l.hashes[i] = afterRef.Hash()
	return got.Diff(afterRef)
}

// prepare empties the arena and makes the arguments of call number i in it.
func prepare(a *testutil.Arena, c kernelCase, i, w int) func(p *kernelSet) {
	a.Reset(i)
	r := testutil.Rand(i)
	return c.call(a, &r, w)
}

// panicked makes a call and returns what it panicked with.
func panicked(call func(p *kernelSet), p *kernelSet) (err error) {
	defer func() {
		if x := recover(); x != nil {
			err = fmt.Errorf("panic: %v", x)
			if f, ok := x.(interface{ Addr() uintptr }); ok {
				err = fmt.Errorf("access outside the slices, at %#x: %v", f.Addr(), x)
			}
		}
	}()
	call(p)
	return nil
}
