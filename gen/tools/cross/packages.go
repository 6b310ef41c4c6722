package main

import (
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

const module = "github.com/attn-go/attn"

// nowhere in place of CPUs says that a package is tested on none.
const nowhere = "none"

// known lists the packages whose tests are not simply run: some tests must run, others are
// skipped. All other packages of the library are tested completely, on all platforms.
var known = []testedPackage{
	{path: "internal/scalar", must: "TestFMASpecial TestFMAHiddenTies TestFMAOperands TestExp2Definition TestWidenAll TestNarrow", sweeps: "TestActivation(Errors|Shapes)"},
	{path: "fallback", must: "TestMergeStats TestGemm", skip: "Oracle"},
	{
		path: "internal/tier",
		must: "TestKernels TestGuard TestAllKernels TestExp2 TestFunctions TestNarrowAll TestChoose",

		// TestGuard makes the calls of TestKernels, but for the kernels that Haswell skips. And
		// tier generic would be compared with itself.
		skip:    "Mutants|TestKernels/kernel=([^SNEA]|S[^k]|E[^l]|A[^c]|Skinny.[^H]|Elementwise.[^A]|Activations.([^G]|G[^R]))|TestKernels/./tier=generic",
		kernels: "TestKernels|TestGuard",
		sweeps:  "TestGuard$/./tier=generic",
	},
	{path: "internal/engine", must: "TestRingDoesNotGrow TestPlainCallHasNoOptions", skip: "Alloc|CallsAreShort"},
	{path: "internal/engine/kvrows", must: "TestPrefetchHints TestWideRowsAreKept"},
	{path: "internal/parallel", must: "TestEachTaskIsDoneOnce TestBadParallelFor TestSubmittedJobIsDone TestThreads", skip: "Alloc|Concurrent|Memory|Reserve|Release"},
	{path: "internal/hugepages", must: "TestMake", only: "arm64 386"},
	{path: "docs", only: nowhere},                              // draws charts
	{path: "internal/layering", only: nowhere},                 // reads source files
	{path: "internal/hostile", must: "TestTable", only: "386"}, // sizes beyond an int: make test has the sizes of 64 bits
	{path: "internal/view", must: "TestIsApartFromIsSafe", sweeps: "TestIsApartFromIsSafe"},
	{path: "internal/racetest", only: nowhere}, // builds programs
	{path: "internal/testutil", only: nowhere}, // counts allocations
	{path: "kernel", must: "TestGolden TestContract TestAdditiveBackward TestBackward TestHiddenNeverMatters TestGuardOptions TestDefaultTierErrors",
		skip: "Alloc|LateTask|Concurrent|Types$|TypesNaN|SplitKV|ParallelFor|Threads|Partials|Pages$|ChunkedPrefill|Oracle|CausalIsLengths|BandedMask|NonFinite|" +
			"LookAhead|ScorePanics|ScoreGoexit|DropoutMean|BadSpin|ScratchMemory|ReleaseMemory|Bubbles|ExampleExec$|QuantizedAccuracy|TestUnions|BFloat16(Alone|Pages)|TestBackward(Shapes|ManyKeys|" +
			"UnseenKeys|Wanted|Batch|Panic|Differences)",
		sweeps: "TestGuard|TestAdditive$|TestAdditiveBackward$|TestBackward$|TestBackwardPairs|TestBackwardRefs|TestContract$|TestDecode|TestAlone|TestOptions$|" +
			"TestRagged$|TestHiddenNeverMatters|TestMaskPositions|TestNaNInPadding|TestScoreIsAsGoodAsOptions|TestPlainCalls|TestQuantized|TestStreamedKeys|" +
			"TestTunings|TestBFloat16|TestKeyRows|TestTree|Fuzz"},
	{path: "kvcache", must: "TestWindow TestBatchesAndChunks TestErrors", skip: "Alloc|Concurrent|TestCache$|GuardPages", sweeps: "TestDropBeforeStore|TestOrder|TestValueType|Fuzz"},
	{path: "linear", must: "TestApply TestProduct TestBackward TestBackwardGolden TestGuard TestWidening TestQuantizedRows TestRows TestPacked TestActivation TestProject TestThreadsShareTheWork",
		skip:   "Alloc|Concurrent|Large|ParallelFor",
		sweeps: "Guard|TestBackward$|TestQuantizedRows|TestRowsAreIndependent|TestThreadsShareTheWork|TestTunings|TestWidening|Fuzz"},
	{path: "norm", must: "TestContract TestGolden TestNaN TestBackward TestBackwardGolden", skip: "Alloc|Concurrent"},
	{path: "retrieval", must: "TestBits TestSpecial TestErrors", skip: "Alloc"},
	{path: "recurrent", must: "TestBits TestNaNs TestExact TestErrors", skip: "Alloc"},
	{path: "rope", must: "TestGolden TestCosSin TestApply TestAngleTimes", skip: "Alloc|Concurrent"},
	{path: "activation", must: "TestGolden TestActivations TestGated TestGradients TestSlopes", skip: "Alloc"},
	{path: "loss", must: "TestContract TestGolden", skip: "Alloc"},
	{path: "optimize", must: "TestStep TestGolden TestClip", skip: "Alloc"},
	{path: "numeric", must: "TestSliceFunctions TestSixteenBitsStay TestQuantizeInt8", skip: "Alloc"},
	{path: "layer", must: "TestRefs TestSimilarityBackward TestMultiHeadBackward", only: "arm64", skip: "Alloc|Concurrent|LookAhead|WorkspaceDoesNotGrow"},
	{path: "models/gguf", must: "TestConvert TestTruncated", only: "s390x 386", run: "TestConvert|TestValues|TestTensors|TestTruncated|TestHugeNumbers"}, // numbers of either byte order, sizes of either width
	{path: "models/internal/littleendian", must: "TestCopy TestView", only: "s390x 386"},                                                                 // as above
	{path: "models/safetensors", must: "TestRead TestLargeDimension TestWrite", only: "s390x 386"},                                                       // as above
	{path: "models/internal/tensors", must: "TestNumbers TestLinear TestForms", only: "s390x 386", run: "TestNumbers|TestLinear|TestForms"},              // as above
	{path: "models/encoder", must: "TestSmall TestTinyGolden", only: "arm64", run: "TestGolden|TestSmall|TestTinyGolden"},                                // TestGolden needs the real weights
	{path: "models/decoder", must: "TestGolden TestGoldenArchitectures", only: "arm64", run: "TestGolden$|TestGoldenArchitectures"},
	{path: "models/receipt", must: "TestCommitted TestCommittedTexts TestCommittedSession", only: "arm64 s390x", run: "TestCommitted"}, // made on amd64, verified here and by receiptTests
	{path: "models/server", must: "TestRecordedMix TestRecordedPages", only: "arm64", run: "TestRecorded"},                             // the bodies and pages that another CPU has recorded
	{path: "models/gobytes", must: "TestLogits TestTrainedWeights", only: "arm64", skip: "TestSameBits|TestGreedy|TestGradients|TestLearns|OfDefaults"},
}

// A testedPackage is a package whose tests run.
type testedPackage struct {
	path string // in the repository
	must string // tests and subtests that must pass, so that none is lost when it is renamed
	asm  string // matches kernels that must not run in Go on a tier of the platform; "": none
	only string // architectures that it is tested on, but on no brief platform, or CPUs; "": all

	// run matches the tests to run. "": all.
	run string

	oneOf int // calls of a kernel for each that internal/tier makes without -deep; 0: 1

	// skip matches tests that need no emulated CPU: tests of memory and of how work is
	// divided among threads, whose result is the same on all architectures, and long tests
	// of what shorter tests cover as well.
	skip string

	// sweeps matches tests of very many shapes and options, which brief platforms leave out.
	// What stays, above all the golden tests, runs all options and all code of the generic tier
	// at least once.
	sweeps string

	// kernels matches tests that compare the kernels of all tiers with package fallback. Brief
	// platforms leave them out if they have the generic tier alone, which is package fallback.
	kernels string
}

// allPackages returns the known packages and the packages of the library's module with tests.
func allPackages(root string) ([]testedPackage, error) {
	cmd := exec.Command("go", "list", "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}", "./...")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	all := slices.Clone(known)
	for line := range strings.Lines(string(out)) {
		path := strings.TrimPrefix(strings.TrimSpace(line), module+"/")
		if path == module {
			continue // the front page, whose tests are of texts and start programs
		}
		if !slices.ContainsFunc(known, func(p testedPackage) bool { return p.path == path }) {
			all = append(all, testedPackage{path: path})
		}
	}
	return all, nil
}

// flags returns the flags of the test binary.
func (pkg *testedPackage) flags() []string {
	flags := []string{"-test.short", "-test.v", "-test.run=" + pkg.run, "-test.skip=" + pkg.skip}
	if pkg.oneOf > 0 {
		flags = append(flags, fmt.Sprintf("-one-of=%d", pkg.oneOf))
	}
	return flags
}

// tests returns the packages to test on this platform.
func (p *platform) tests(all []testedPackage) []testedPackage {
	if p.list != nil {
		tests := slices.Clone(p.list)
		for i := range tests {
			tests[i].leaveOut(p.skip)
		}
		return p.thinned(tests)
	}
	tests := slices.DeleteFunc(slices.Clone(all), func(pkg testedPackage) bool {
		return !pkg.runsOn(p)
	})
	for i := range tests {
		tests[i].leaveOut(p.skip)
		tests[i].leaveOut(tests[i].leftOut(p))
	}
	return p.thinned(tests)
}

// thinned returns the packages with as many calls of kernels as the platform makes.
func (p *platform) thinned(tests []testedPackage) []testedPackage {
	for i := range tests {
		if tests[i].path == "internal/tier" && p.oneOf > 0 {
			tests[i].oneOf = p.oneOf
		}
	}
	return tests
}

// runsOn reports whether the package is tested on the platform.
func (pkg *testedPackage) runsOn(p *platform) bool {
	return pkg.only == "" || has(pkg.only, p.cpu) || !p.brief && has(pkg.only, p.arch)
}

// has tells whether a list has a word.
func has(list, word string) bool { return slices.Contains(strings.Fields(list), word) }

// leftOut matches the tests of the package that a platform without sweeps leaves out.
func (pkg *testedPackage) leftOut(p *platform) string {
	switch {
	case !p.brief && !p.deepSweeps:
		return ""
	case p.tiers == "generic":
		return alternatives(pkg.sweeps, pkg.kernels)
	}
	return pkg.sweeps
}

// leaveOut leaves out the tests that a pattern matches.
func (pkg *testedPackage) leaveOut(pattern string) {
	if pattern == "" {
		return
	}
	pkg.skip = alternatives(pkg.skip, pattern)
	r := regexp.MustCompile(pattern)
	pkg.must = strings.Join(slices.DeleteFunc(strings.Fields(pkg.must), r.MatchString), " ")
}

// alternatives returns a pattern that matches what any of the patterns matches.
func alternatives(x, y string) string { return strings.Trim(x+"|"+y, "|") }
