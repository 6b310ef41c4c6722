package layering

// A rule says what a package of the root module imports of the others.
type rule struct{ pkg, imports string }

// rules has a row for each package, and a package imports only packages in rows below its own. A
// new package gets a row; a new import goes into the row of its package, if the order allows it.
var rules = []rule{
	{".", "kernel internal/parallel internal/tier"},
	{"layer", "kernel linear internal/check internal/elementwise internal/hugepages internal/ints internal/mask internal/parallel internal/position internal/rows internal/scalar internal/scoring internal/tier internal/view"},
	{"internal/contracttest", "fallback kernel numeric internal/check internal/scalar internal/testutil internal/tier internal/ukernel internal/view"},
	{"loss", "kernel numeric internal/check internal/elementwise internal/parallel internal/rows internal/scalar internal/tier internal/view"},
	{"optimize", "kernel internal/check internal/elementwise internal/ints internal/parallel internal/scalar internal/tier internal/view"},
	{"kvcache", "kernel internal/check internal/hugepages internal/ints internal/position internal/rows internal/tier internal/ukernel internal/view"},
	{"linear", "kernel internal/check internal/elementwise internal/hugepages internal/ints internal/parallel internal/quantized internal/rows internal/scalar internal/tier internal/ukernel internal/view"},
	{"norm", "contract kernel internal/check internal/elementwise internal/ints internal/parallel internal/rows internal/scalar internal/tier internal/view"},
	{"recurrent", "contract kernel internal/check internal/elementwise internal/ints internal/parallel internal/rows internal/scalar internal/tier internal/view"},
	{"retrieval", "kernel internal/check internal/elementwise internal/hugepages internal/ints internal/parallel internal/rows internal/tier internal/ukernel internal/view"},
	{"activation", "kernel internal/elementwise internal/parallel internal/ukernel"},
	{"rope", "kernel internal/check internal/elementwise internal/hugepages internal/ints internal/parallel internal/rows internal/tier internal/view"},
	{"numeric", "kernel internal/check internal/elementwise internal/rows internal/scalar internal/tier internal/view"},
	{"internal/elementwise", "kernel internal/check internal/parallel internal/tier internal/view"},
	{"kernel", "internal/backward internal/check internal/engine internal/engine/merge internal/hugepages internal/ints internal/mask internal/parallel internal/position internal/rows internal/scalar internal/scoring internal/tier internal/ukernel internal/view"},
	{"internal/backward", "internal/engine internal/gate internal/ints internal/mask internal/parallel internal/position internal/rows internal/scalar internal/tier internal/ukernel internal/view"},
	{"internal/engine", "contract internal/engine/kvrows internal/engine/lanes internal/engine/tasks internal/gate internal/ints internal/mask internal/parallel internal/position internal/rows internal/scalar internal/scoring internal/tier internal/ukernel internal/view"},
	{"internal/engine/tasks", "contract internal/ints internal/parallel"},
	{"internal/engine/merge", "internal/parallel internal/rows internal/scalar internal/tier internal/ukernel internal/view"},
	{"internal/engine/kvrows", "contract internal/engine/lanes internal/ints internal/mask internal/parallel internal/position internal/rows internal/tier internal/ukernel internal/view"},
	{"internal/engine/lanes", "internal/view"},
	{"internal/rows", "contract internal/scalar internal/tier internal/view"},
	{"internal/scoring", "internal/check internal/mask internal/position internal/view"},
	{"internal/mask", "internal/check internal/ints internal/position internal/view"},
	{"internal/view", "internal/check internal/ints internal/ukernel"},
	{"internal/position", "internal/check"},
	{"internal/tier", "asm contract fallback internal/check internal/ukernel"},
	{"internal/parallel", "asm"},
	{"internal/gate", ""},
	{"internal/check", ""},
	{"internal/hugepages", "internal/ints"},
	{"internal/ints", ""},
	{"internal/testutil", "internal/scalar"},
	{"fallback", "contract internal/quantized internal/scalar internal/ukernel"},
	{"asm", "internal/ukernel"},
	{"internal/quantized", "contract internal/scalar internal/ukernel"},
	{"internal/ukernel", "contract"},
	{"internal/scalar", "contract"},
	{"contract", ""},
}
