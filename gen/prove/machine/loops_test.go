package machine_test

import (
	"strings"
	"testing"

	"github.com/attn-go/attn/gen/prove/amd64"
	"github.com/attn-go/attn/gen/prove/expr"
	"github.com/attn-go/attn/gen/prove/machine"
)

// TestLoops compares the trips of loops: some are the same, some read elsewhere, some do something
// else, and some are too few.
func TestLoops(t *testing.T) {
	const frame = "TEXT ·f(SB), NOSPLIT, $0-24\nMOVQ x_base+0(FP), AX\nMOVQ AX, DX\nXORQ DI, DI\nMOVQ $8, BX\nMOVQ $TRIPS, CX\nloop:\nBODY\nDECQ CX\nJNZ loop\nRET\n"
	for _, x := range []struct {
		name, trips, body, want string
		bound                   machine.Bound
	}{
		{"the same", "6", "MOVL (AX), SI\nADDQ $8, AX", "", machine.Slices},
		{"further each time", "5", "MOVL (AX), SI\nADDQ BX, AX\nSHLQ $1, BX", "that differ", machine.Unknown},
		{"one in three is another", "9", "MOVL (AX), SI\nADDQ $8, AX\nCMPQ CX, $6\nJNE no\nMOVL (DX), SI\nno:", "2 kinds", machine.Slices},
		{"every other one moves", "14", "TESTQ $1, CX\nJZ no\nMOVL (AX), SI\nADDQ $8, AX\nno:", "nothing bounds", machine.Endless},
		{"nowhere further", "12", "MOVL (AX), SI\nMOVL 4(AX), SI", "nothing bounds", machine.Endless},
		{"nowhere further with prefetches", "12", "MOVL (AX), SI\nPREFETCHT0 (AX)", "nothing bounds", machine.Endless},
		{"prefetches", "12", "PREFETCHT0 (AX)\nADDQ $8, AX", "", machine.Prefetch},
		{"few trips", "8", "MOVL (AX), SI", "", machine.Few},
		{"two trips", "2", "MOVL (AX), SI\nADDQ $8, AX", "up to 2 trips", machine.Rest},
		{"the last takes less", "6", "MOVL (AX), SI\nCMPQ CX, $1\nJE last\nMOVQ (AX), SI\nlast:\nADDQ $8, AX", "2 kinds", machine.Slices},
		{"a ring of four", "12", "MOVL (AX), SI\nADDQ $8, AX\nMOVQ CX, SI\nANDQ $3, SI\nMOVL (DX)(SI*8), R8", "", machine.Slices},
		{"a ring of four, not around three times", "11", "MOVL (AX), SI\nADDQ $8, AX\nMOVQ CX, SI\nANDQ $3, SI\nMOVL (DX)(SI*8), R8", "that differ", machine.Unknown},
		{"a ring of eight", "24", "MOVL (AX), SI\nADDQ $8, AX\nMOVQ CX, SI\nANDQ $7, SI\nMOVL (DX)(SI*8), R8", "that differ", machine.Unknown},
		{"a ring alone", "12", "MOVQ CX, SI\nANDQ $3, SI\nMOVL (DX)(SI*8), R8", "that differ", machine.Unknown},
		{"lines within columns", "3", "MOVL (AX), SI\nADDQ $64, AX\nADDQ $1, DI\nTESTQ $3, DI\nJNZ loop\nADDQ $-200, AX", "", machine.Slices},
	} {
		file, err := machine.Read(strings.NewReplacer("TRIPS", x.trips, "BODY", x.body).Replace(frame))
		if err != nil {
			t.Fatal(err)
		}
		g := expr.New()
		region := machine.NewRegion(g, "x", 1024)
		for at := 0; at < 1024; at += 4 {
			region.SetWord(at, g.Const(32, 0))
		}
		args := machine.NewRegion(g, "arguments", 24)
		args.SetWord(0, region.Base)
		run := machine.NewRun(g, file, amd64.ISA{}, args, region)
		if err := run.Call("f"); err != nil {
			t.Fatalf("%s: %v", x.name, err)
		}
		if len(run.Loops) != 1 && x.name != "lines within columns" {
			t.Fatalf("%s: %d loops", x.name, len(run.Loops))
		}
		for _, l := range run.Loops {
			if l.Bound() != x.bound {
				t.Errorf("%s: %v, %v, want %v", x.name, l, l.Bound(), x.bound)
			}
			if x.name == "the same" && (l.Insts != 4 || l.Bytes != 8) {
				t.Errorf("%s: %d instructions, %d bytes a trip", x.name, l.Insts, l.Bytes)
			}
			if x.want == "" && !l.Inductive() || !strings.Contains(l.String(), x.want) || strings.Contains(x.name, "two") && l.Inductive() {
				t.Errorf("%s: %v, inductive %v", x.name, l, l.Inductive())
			}
		}
	}
}
