package harness

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/internal/ukernel"
)

func readTable(t *testing.T) (string, Table) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "gen", "prove", "table.txt"))
	if err != nil {
		t.Fatal(err)
	}
	table, err := ReadTable(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return string(text), table
}

// TestTable: the table has a cell for each kernel of each instruction set and no others, and says
// why kernels are tested only.
func TestTable(t *testing.T) {
	text, table := readTable(t)
	is := map[string]bool{}
	for goarch := range cpus {
		a, err := ReadArchitecture(root, goarch)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range a.Kernels {
			is[k.Name()+" "+k.ISA] = true
			if _, ok := table[k.Name()][k.ISA]; !ok && k.ISA != "pause" {
				t.Errorf("table.txt has no %s of %s: make prove ARGS='-quick -table gen/prove/table.txt'", k.Name(), k.ISA)
			}
		}
	}
	why := map[string]string{}
	for _, line := range strings.Split(text, "\n") {
		if kernels, reason, ok := strings.Cut(strings.TrimPrefix(line, "# "), ": "); ok {
			for _, k := range strings.Split(kernels, ", ") {
				why[k] = reason
			}
		}
	}
	for name, cells := range table {
		for isa, c := range cells {
			switch {
			case !is[name+" "+isa]:
				t.Errorf("table.txt has %s of %s, which is no kernel", name, isa)
			case c.Word == "FAILED":
				t.Errorf("%s of %s is not proven", name, isa)
			case c.Word == "tested" && (why[name+" "+isa] == "" || why[name+" "+isa] != contracts[name].open):
				t.Errorf("table.txt says of %s of %s, which is tested only: %q, want the contract's %q", name, isa, why[name+" "+isa], contracts[name].open)
			}
		}
	}
}

// TestChanged: the word of each kernel that the table has not, or in another word, is told.
func TestChanged(t *testing.T) {
	_, table := readTable(t)
	if list := table.Changed(table); list != nil {
		t.Errorf("the same table: %q", list)
	}
	_, other := readTable(t)
	other["Lanes.Bias"]["avx2"] = Cell{Word: "tested"}
	delete(other["Skinny.QK"], "neon")
	want := []string{`Lanes.Bias of avx2 is lemmas, and "tested" in table.txt`, `Skinny.QK of neon is proven, and "" in table.txt`}
	if list := table.Changed(other); !slices.Equal(list, want) {
		t.Errorf("%q, want %q", list, want)
	}
}

// cut are kernels whose callers cut work to so many FMAs or floats that a call takes about 100 µs.
var cut = regexp.MustCompile(`^(?:Products\.Gemm(?:Max|Merge)?|Skinny\.(?:QK|PV)(?:Rows)?(?:F16|BF16|Int8)?|Weights\..*Gemm.*|(Lanes\.Pack|(?:Lanes|Skinny)\.Unpack|Skinny\.Merge))$`)

// TestCallsAreBounded: no call that is cut executes more instructions than a CPU can in about twice
// that time, by the rates of the table. Skinny kernels have the rates of their shortest calls, with
// a row of 8 columns.
func TestCallsAreBounded(t *testing.T) {
	const most, ofSkinny = 9 << 18, 10 << 19
	fmas, floats := ukernel.RowsPerCall(1<<40, 1), ukernel.ColumnsPerCall(1<<40, 1)
	calls := 0
	_, table := readTable(t)
	for name, cells := range table {
		kind := cut.FindStringSubmatch(name)
		if kind == nil {
			continue
		}
		work, limit := fmas, float64(most)
		switch {
		case kind[1] != "":
			work = floats
		case strings.HasPrefix(name, "Skinny"):
			limit = ofSkinny
		}
		for isa, c := range cells {
			if calls++; c.Rate == 0 || c.Rate*float64(work) > limit {
				t.Errorf("%s of %s: %.3g instructions for a unit, %.0f for a call", name, isa, c.Rate, c.Rate*float64(work))
			}
		}
	}
	if calls < 100 {
		t.Errorf("%d kernels", calls)
	}
}
