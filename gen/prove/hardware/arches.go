package hardware

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/attn-go/attn/gen/prove/amd64"
	"github.com/attn-go/attn/gen/prove/arm64"
	"github.com/attn-go/attn/gen/prove/machine"
	"github.com/attn-go/attn/gen/prove/riscv64"
)

var amd64Names = strings.Fields("AX CX DX BX SP BP SI DI R8 R9 R10 R11 R12 R13 R14 R15")

// numberIn returns the number at the end of a name.
func numberIn(name string) int {
	n, _ := strconv.Atoi(digits.FindString(name))
	return n
}

func letter(name string) string { return name[:1] }

// size tells the lowest byte of a register of amd64 from the register.
func size(name string) string {
	if name[1] == 'L' {
		return "byte"
	}
	return "word"
}

var arches = []arch{{
	goarch: "amd64",
	isa:    amd64.ISA{},
	files:  []string{"avx2", "avx512"},
	free:   []string{"R8", "R9", "R10", "R11", "R12", "R13", "SI", "DI", "BX", "DX"},
	kinds: []register{
		{regexp.MustCompile(`\b[XYZ]\d+\b`), letter, numberIn, "VMOVUPS AT(%IN), ZNUM\n", "VMOVUPS ZNUM, AT(%OUT)\n", 0, 64, ""},
		{regexp.MustCompile(`\bK\d\b`), letter, numberIn, "MOVQ AT(%IN), %TMP\nKMOVW %TMP, REG\n", "KMOVW REG, %TMP\nMOVQ %TMP, AT(%OUT)\n", masksAt, 8, ""},
		{regexp.MustCompile(`\b([ABCD][XL]|[SD]I|R\d+)\b`), size, func(name string) int {
			if name[1] == 'L' {
				name = name[:1] + "X"
			}
			for i, n := range amd64Names {
				if n == name {
					return i
				}
			}
			return 0
		}, "MOVQ AT(%IN), REG\n", "MOVQ REG, AT(%OUT)\n", generalAt, 8, ""},
	},
	header: "MOVQ in_base+0(FP), %IN\nMOVQ out_base+24(FP), %OUT\n" +
		"VMOVUPS 2688(%IN), Z0\nVMOVUPS Z0, 2688(%OUT)\nVMOVUPS 2752(%IN), Z0\nVMOVUPS Z0, 2752(%OUT)\n",
	point:   "LEAQ OFF(BASE), REG\n",
	number:  "MOVQ $N, REG\n",
	branch:  "JUMP\nMOVQ $0, %TMP\nJMP end\nyes:\nMOVQ $1, %TMP\nend:\nMOVQ %TMP, 2552(%OUT)",
	frame:   map[string]bool{"SP": true, "BP": true},
	address: regexp.MustCompile(`^LEA`),
	numbers: regexp.MustCompile(`^(MOV|ADD|SUB|CMP|TEST|AND|OR|XOR|IMUL)[A-Z0-9]*$`),
	skip:    regexp.MustCompile(`^(T|LDTILE|PREFETCH|RET|JMP|NOP|VZEROUPPER|VFIXUPIMMPS|CPUID|RDTSC|PAUSE)`),
	store:   regexp.MustCompile(`^(V?P?MOV|V?EXTRACT|VPEXTR|VMASKMOV|VCVTPS2PH|ADD|SUB|SH[LR]|INC|DEC|AND|OR|XOR|NEG)`),
	compare: regexp.MustCompile(`^(CMP|TEST|VUCOMI)`),
	flags:   regexp.MustCompile(`^(ADD|SUB|CMP|TEST|AND|OR|XOR|SHL|SHR|SAR|NEG|INC|DEC|BTS|BT|VUCOMI|IMUL|KORTEST)[A-Z0-9]*$`),
	uses:    regexp.MustCompile(`^(J|CMOV)`),
	end:     "VZEROUPPER\nRET\n",
}, {
	goarch: "arm64",
	isa:    arm64.ISA{},
	files:  []string{"neon"},
	free:   []string{"R20", "R21", "R22", "R23", "R24", "R25", "R19"},
	kinds: []register{
		{regexp.MustCompile(`\b[VvFqdsh]\d+\b`), letter, numberIn, "FMOVQ AT(%IN), FNUM\n", "FMOVQ FNUM, AT(%OUT)\n", 0, 16, ""},
		{regexp.MustCompile(`\b[Rxw]\d+\b`), letter, numberIn, "MOVD AT(%IN), RNUM\n", "MOVD RNUM, AT(%OUT)\n", generalAt, 8, ""},
	},
	header: "MOVD in_base+0(FP), %IN\nMOVD out_base+24(FP), %OUT\n" +
		"FMOVQ 2688(%IN), F0\nFMOVQ F0, 2688(%OUT)\nFMOVQ 2704(%IN), F0\nFMOVQ F0, 2704(%OUT)\nFMOVQ 2720(%IN), F0\nFMOVQ F0, 2720(%OUT)\nFMOVQ 2736(%IN), F0\nFMOVQ F0, 2736(%OUT)\n",
	point:   "ADD $OFF, BASE, RNUM\n",
	number:  "MOVD $N, RNUM\n",
	branch:  "JUMP\nMOVD $0, %TMP\nB end\nyes:\nMOVD $1, %TMP\nend:\nMOVD %TMP, 2552(%OUT)",
	frame:   map[string]bool{"RSP": true},
	address: regexp.MustCompile(`^ADR`),
	numbers: regexp.MustCompile(`^(MOV|ADD|SUB|CMP|TST|AND|MUL|MADD)[A-Z0-9]*$`),
	skip:    regexp.MustCompile(`^(PRFM|RET|B|NOP|YIELD)$`),
	store:   regexp.MustCompile(`^(FSTP|VST|STP|str|FMOV|MOV)`),
	compare: regexp.MustCompile(`^(CMP|TST)`),
	flags:   regexp.MustCompile(`^(ADDS|SUBS|CMPW?|TST|ANDS)$`),
	uses:    regexp.MustCompile(`^(B(EQ|NE|LT|LE|GT|GE|HI|HS|LO|LS|MI|PL|CC|CS|VS|VC)|CSEL|CSET|CSINC)$`),
	end:     "RET\n",
}, {
	goarch: "riscv64",
	isa:    riscv64.ISA{VLEN: 128},
	files:  []string{"rvv"},
	free:   []string{"X20", "X21", "X22", "X23", "X24", "X25", "X26", "X28", "X29"},
	kinds: []register{
		{regexp.MustCompile(`\bV\d+\b`), letter, numberIn, "", "", 0, 16, ""}, // all are loaded and stored
		{regexp.MustCompile(`\bF\d+\b`), letter, numberIn, "MOVF AT(%IN), REG\n", "MOVF REG, AT(%OUT)\n", 1024, 8, "MOVD AT(%IN), REG\n"},
		{regexp.MustCompile(`\bX[1-9]\d*\b`), letter, numberIn, "MOV AT(%IN), REG\n", "MOV REG, AT(%OUT)\n", generalAt, 8, ""},
	},
	header: "MOV in_base+0(FP), %IN\nMOV out_base+24(FP), %OUT\nVSETVLI X0, E8, M8, TA, MA, %TMP\n" +
		groups("ADD $FROM, %IN, %TMP\nVLE8V (%TMP), V0\nADD $FROM, %OUT, %TMP\nVSE8V V0, (%TMP)\n", memoryAt) +
		groups("ADD $FROM, %IN, %TMP\nVLE8V (%TMP), VNUM\n", 0),
	point:    "ADD $OFF, BASE, REG\n",
	number:   "MOV $N, REG\n",
	branch:   "JUMP\nMOV $0, %TMP\nJMP end\nyes:\nMOV $1, %TMP\nend:\nMOV %TMP, 2552(%OUT)",
	address:  regexp.MustCompile(`^NONE$`),
	numbers:  regexp.MustCompile(`^(MOV|ADD|SUB|AND|FMV)[A-Z0-9]*$`),
	skip:     regexp.MustCompile(`^(RET|JMP|NOP|VLUXEI\d+V|MOVD)$`),
	store:    regexp.MustCompile(`^(VSE|VSSE|MOV)`),
	compare:  regexp.MustCompile(`^NONE$`),
	flags:    regexp.MustCompile(`^VSETVLI$`),
	uses:     regexp.MustCompile(`^V([^S]|S([^E]|E[^T]))`),
	end:      "VSETVLI X0, E8, M8, TA, MA, %TMP\n" + groups("ADD $FROM, %OUT, %TMP\nVSE8V VNUM, (%TMP)\n", 0) + "RET\n",
	config:   lastButOne,
	distance: regexp.MustCompile(`^V[LS]SE\d+V$`),
	open:     true,
}}

// groups repeats a text for all groups of 8 vector registers of 128 bits, which lie one after the
// other.
func groups(text string, from int) string {
	var b strings.Builder
	for i := range 4 {
		b.WriteString(strings.NewReplacer("FROM", fmt.Sprint(from+128*i), "NUM", fmt.Sprint(8*i)).Replace(text))
	}
	return b.String()
}

// lastButOne is VSETVLI of the same type, for all elements but the last one, so that one is beyond
// the length.
func lastButOne(in *machine.Inst) string {
	kind := fmt.Sprintf("%s, %s, %s, %s", in.Args[1].Text, in.Args[2].Text, in.Args[3].Text, in.Args[4].Text)
	return fmt.Sprintf("VSETVLI X0, %s, %%TMP\nADD $-1, %%TMP, %%TMP\nVSETVLI %%TMP, %s, %%TMP", kind, kind)
}
