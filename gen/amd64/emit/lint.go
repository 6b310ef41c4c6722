package emit

import (
	"fmt"
	"strings"

	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// lint finds errors that avo accepts and that show only on some CPUs, or only as lost speed:
// registers and instructions that the ISA does not have (with more than 16 live YMM
// registers avo takes Y16 and labels the code AVX2), returns that leave the upper halves of
// registers dirty, and stack frames other than those in frames: avo adds one for a 15th
// general register, BP, as the frame saves it.
func lint(file *ir.File, i ISA, frames map[string]int) []error {
	var errs []error
	for _, fn := range file.Functions() {
		cleared, tiles := false, usesTiles(fn)
		before := ""
		for _, node := range fn.Nodes {
			inst, ok := node.(*ir.Instruction)
			if !ok {
				if _, ok := node.(ir.Label); ok {
					cleared = false // a jump to here may come without VZEROUPPER
				}
				continue
			}
			fail := func(what string) {
				errs = append(errs, fmt.Errorf("%s: %s: %s", fn.Name, inst.Opcode, what))
			}
			if inst.Opcode == "RET" && !cleared {
				fail("without VZEROUPPER before it, and TILERELEASE before that where there are tiles")
			}
			cleared = inst.Opcode == "VZEROUPPER" && (!tiles || before == "TILERELEASE")
			before = inst.Opcode
			if i.EVEX() {
				continue
			}
			for _, isa := range inst.ISA {
				if strings.HasPrefix(isa, "AVX512") {
					fail("is " + isa)
				}
			}
			for _, op := range inst.Operands {
				if what := notInAVX2(op); what != "" {
					fail(what)
				}
			}
		}
		if fn.LocalSize != frames[fn.Name] {
			errs = append(errs, fmt.Errorf("%s: has a stack frame of %d bytes, not of %d", fn.Name, fn.LocalSize, frames[fn.Name]))
		}
	}
	return errs
}

// notInAVX2 returns why only AVX-512 has an operand, or "".
func notInAVX2(op operand.Op) string {
	r, ok := op.(reg.Physical)
	if !ok {
		return ""
	}
	switch {
	case r.Kind() == reg.KindOpmask:
		return "mask register " + r.Asm()
	case r.Kind() == reg.KindVector && r.Size() == 64:
		return "512-bit register " + r.Asm()
	case r.Kind() == reg.KindVector && r.PhysicalIndex() > 15:
		return "register " + r.Asm()
	}
	return ""
}
