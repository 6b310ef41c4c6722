package harness

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTable: the table has a cell for each kernel of each instruction set and no others, and says
// why kernels are tested only.
func TestTable(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "gen", "prove", "table.txt"))
	if err != nil {
		t.Fatal(err)
	}
	table, err := ReadTable(string(text))
	if err != nil {
		t.Fatal(err)
	}
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
	for _, line := range strings.Split(string(text), "\n") {
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
