package arm64

import (
	"fmt"
	"maps"
	osexec "os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/attn-go/attn/gen/prove/expr"
	"github.com/attn-go/attn/gen/prove/machine"
)

// executes reports whether the interpreter executes an instruction that is written as a word.
func executes(t *testing.T, text string) bool {
	t.Helper()
	file, err := machine.Read("TEXT ·f(SB), NOSPLIT, $0-0\nWORD $0x0 // " + text + "\nRET\n")
	if err != nil {
		t.Fatal(err)
	}
	g := expr.New()
	return machine.NewRun(g, file, ISA{}, machine.NewRegion(g, "arguments", 0)).Call("f") == nil
}

// TestForms: operands that are no form of an operation end the execution.
func TestForms(t *testing.T) {
	for text, ok := range map[string]bool{
		"shll v0.4s, v0.4h, #16": true, "shll v0.4s, v0.4s, #16": false, "shll v0.4s, v0.4h": false, "shll v0.4s, v0.4h, #8": false, "shll2 v0.4s, v0.4h, #16": false,
		"fcvtl v0.2d, v1.2s": true, "fcvtl v0.2d, v1.4s": false, "fcvtn2 v0.8h, v1.4s": true, "fcvtn v0.8h, v1.4s": false,
		"umull2 v0.2d, v1.4s, v2.4s": true, "umull2 v0.2d, v1.4s, v2.2s": false, "sadalp v0.4s, v1.8h": true, "sadalp v0.4s, v1.4h": false,
		"fadd v0.4s, v1.4s, v2.4s": true, "fadd v0.4s, v1.2d, v2.4s": false, "fmla v0.4s, v1.4s, v2.s[3]": true, "fmla v0.4s, v1.4s, v2.h[3]": false,
	} {
		if executes(t, text) != ok {
			t.Errorf("%s: executed is %v", text, !ok)
		}
	}
}

// TestFormsLLVM: what the interpreter executes of all shapes of operands, LLVM's assembler takes.
func TestFormsLLVM(t *testing.T) {
	mc, err := osexec.LookPath("llvm-mc-19")
	if err != nil {
		t.Skip(err)
	}
	shapes := []string{"8b", "16b", "4h", "8h", "2s", "4s", "s[1]", "2d"}
	var list []string
	add := func(text string, operands int) {
		for i := range 512 {
			form := text
			for j := range operands {
				form += fmt.Sprintf("%s v%d.%s", ","[:min(j, 1)], j, shapes[i>>(3*j)&7])
			}
			if i>>(3*operands) == 0 && executes(t, form) {
				list = append(list, form)
			}
		}
	}
	for _, op := range slices.Concat(slices.Collect(maps.Keys(same)), slices.Collect(maps.Keys(unary)), strings.Fields("fmla fmls mla sdot"+
		" fcvtl fcvtn shll sxtl uxtl umull smull smlal sadalp fcvtl2 fcvtn2 shll2 sxtl2 uxtl2 umull2 smull2 smlal2 sadalp2")) {
		add(op, 2)
		add(op, 3)
	}
	cmd := osexec.Command(mc, "-triple=aarch64", "-mattr=+v8a,+dotprod", "-filetype=null")
	cmd.Stdin = strings.NewReader(strings.Join(list, "\n"))
	out, _ := cmd.CombinedOutput()
	for _, m := range regexp.MustCompile(`(?m)^<stdin>:(\d+):\d+: error: (.*)$`).FindAllStringSubmatch(string(out), -1) {
		line, _ := strconv.Atoi(m[1])
		t.Errorf("%s: %s", list[line-1], m[2])
	}
	if len(list) < 40 {
		t.Errorf("%d forms", len(list))
	}
	t.Log(len(list), "forms")
}
