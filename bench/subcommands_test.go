package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/attn-go/attn/bench/internal/results"
)

// measured is the file that the command wrote about two small shapes.
var measured = sync.OnceValues(func() ([]byte, string) {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, err.Error()
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "x.json")
	code, _, text := runCommand("-shapes", "S1,short-2-d64", "-threads", "1,2", "-time", "1ms", "-count", "2", "-note", "a note", "-json", path)
	if code != exitOK {
		return nil, text
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err.Error()
	}
	return data, ""
})

// measureTo writes a file of results of two small shapes.
func measureTo(t *testing.T, name string) (path string, f *results.File) {
	t.Helper()
	data, text := measured()
	if text != "" {
		t.Fatal(text)
	}
	path = filepath.Join(t.TempDir(), name)
	f, err := results.Parse(path, data)
	if err == nil {
		err = os.WriteFile(path, data, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path, f
}

// A value of ATTN_TUNING that a tier ignores ends the command: what it measured would be of other
// numbers. It runs itself as another process with that environment.
func TestIgnoredTuning(t *testing.T) {
	if os.Getenv("ATTN_TUNING") != "generic:Rows=3" {
		test := exec.Command(os.Args[0], "-test.run=^TestIgnoredTuning$")
		test.Env = append(os.Environ(), "ATTN_TUNING=generic:Rows=3")
		if text, err := test.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		return
	}
	for _, args := range [][]string{{"-quick"}, {"-tune", "-tiers", "generic"}, {"-kernels", "-tiers", "generic"}} {
		code, _, text := runCommand(args...)
		if code != exitUsage || !strings.Contains(text, `ATTN_TUNING: generic: "generic:Rows=3"`) {
			t.Errorf("%v: code %d: %s", args, code, text)
		}
	}
}

// What -json writes has everything that was measured, and report and compare read it.
func TestJSON(t *testing.T) {
	path, f := measureTo(t, "a.json")
	if len(f.Speed) < 4 || len(f.Speed[0].Runs) != 2 || f.Speed[0].Shape != "short-1-d64" || f.Note != "a note" || len(f.Checks) != 3 || len(f.Peaks) < 2 || len(f.Bandwidths) != 8 {
		t.Errorf("%+v", f)
	}
	page := filepath.Join(t.TempDir(), "page.html")
	code, _, err := runCommand("report", path, path, "-o", page)
	if code != 0 || !strings.Contains(err, "All 2 machines agree") || !strings.Contains(err, "The page is "+page+"\n") {
		t.Errorf("exit code %d: %s", code, err)
	}
	if _, _, err := runCommand("report", path, "-o", os.DevNull); strings.Contains(err, "The page is") {
		t.Error(err)
	}
	if code, _, err := runCommand("report", path, "-o", os.DevNull, "-docs", t.TempDir()); code == 0 || !strings.Contains(err, "want the root of the repository") {
		t.Errorf("-docs elsewhere: exit code %d: %s", code, err)
	}
	if text, err := os.ReadFile(page); err != nil || !bytes.Contains(text, []byte("All 2 machines agree")) {
		t.Errorf("the page lacks the agreement: %v", err)
	}
	code, out, err := runCommand("compare", "-all", path, path)
	if code != 0 || !strings.Contains(out, "0 are slower and 0 are faster") || !strings.Contains(out, "short-1-d64 generic threads=2") || !strings.Contains(out, "1.000") {
		t.Errorf("exit code %d, %q, %s", code, out, err)
	}
}

// Files whose bits differ or whose calls are slower give exit code 1.
func TestReportAndCompareFail(t *testing.T) {
	path, f := measureTo(t, "a.json")
	for i := range f.Speed[0].Runs {
		f.Speed[0].Runs[i] *= 2
	}
	slow := path + ".slow"
	if err := f.WriteFile(slow); err != nil {
		t.Fatal(err)
	}
	if code, out, _ := runCommand("compare", path, slow); code != 1 || !strings.Contains(out, "1 are slower and 0 are faster by more than 5%") || !strings.Contains(out, "slower?") {
		t.Errorf("exit code %d, %q", code, out)
	}
	if code, out, _ := runCommand("compare", slow, path); code != 0 || !strings.Contains(out, "0 are slower and 1 are faster by more than 5%") || !strings.Contains(out, "faster?") {
		t.Errorf("the other way round: exit code %d, %q", code, out)
	}
	if code, out, _ := runCommand("compare", "-threshold", "200", path, slow); code != 0 {
		t.Errorf("exit code %d, %q", code, out)
	}
	f.Speed[0].SHA256 = strings.Repeat("0", 64)
	if err := f.WriteFile(slow); err != nil {
		t.Fatal(err)
	}
	if code, _, err := runCommand("report", path, slow, "-o", os.DevNull); code != 1 || !strings.Contains(err, "DIFFER") || !strings.Contains(err, "short-1-d64") {
		t.Errorf("exit code %d, %q", code, err)
	}
	if code, out, _ := runCommand("compare", "-threshold", "200", path, slow); code != 1 || !strings.Contains(out, "DIFFER") {
		t.Errorf("exit code %d, %q", code, out)
	}
}

func TestSubcommandErrors(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.json")
	if err := os.WriteFile(bad, []byte(`{"format": "attn-bench", "sche`), 0o666); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]struct {
		code int
		text string
	}{
		"report":                     {2, "want files"},
		"report -x":                  {2, "-x"},
		"report no/such":             {1, "no/such"},
		"report " + bad:              {1, "ends after 30 bytes"},
		"compare a":                  {2, "want OLD and NEW"},
		"compare -threshold -1 a b":  {2, "-threshold"},
		"compare " + bad + " " + bad: {1, "ends after"},
		"compare no-*.json no/such":  {1, "no-*.json: no commit"},
		"compare -rounds 0 a b":      {2, "-rounds 0"},
		"compare a b -- -json x":     {2, "-json behind --"},

		"compare -rounds 2 " + bad + " " + bad:    {2, "are for commits"},
		"compare " + bad + " " + bad + " -- -all": {2, "are for commits"},
		"-json /no/such/x -shapes none":           {2, "/no/such/x"},
		"-json x -peers no/such":                  {1, "no/such"},
	} {
		code, _, err := runCommand(strings.Fields(args)...)
		if code != want.code || !strings.Contains(err, want.text) {
			t.Errorf("%s: exit code %d, %q", args, code, err)
		}
	}
	for _, sub := range []string{"report", "compare"} {
		if code, out, _ := runCommand(sub, "-h"); code != 0 || !strings.Contains(out, "usage: go run ./bench "+sub) {
			t.Errorf("%s -h: exit code %d, %q", sub, code, out)
		}
	}
}

// Commits are measured and compared.
func TestCompareCommits(t *testing.T) {
	path, _ := measureTo(t, "a.json")
	t.Chdir(testRepository(t, 100, 200, 100))
	for args, want := range map[string]struct {
		code int
		text string
	}{
		"compare -rounds 4 v0 v1":         {1, "SLOWER"},
		"compare -rounds 1 v1 .":          {0, "Of 1 figures 0 are slower and 1 are faster"},
		"compare v0 " + path:              {2, "one of v0 and " + path + " is a commit"},
		"compare " + path + " v0":         {2, "one of " + path + " and v0 is a commit"},
		"compare v0 no-such":              {1, "no such file, and no-such: no commit"},
		"compare -rounds 1 v0 bench":      {1, "bench: no commit"}, // is a folder
		"compare -rounds 1 v0 v1 -- -x=3": {1, "slower?"},
	} {
		code, out, err := runCommand(strings.Fields(args)...)
		if code != want.code || !strings.Contains(out+err, want.text) {
			t.Errorf("%s: exit code %d, %s%s, want %d and %q", args, code, out, err, want.code, want.text)
		}
	}
}

// A suite's rows are written, too.
func TestSuiteJSON(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.json")
	code, out, err := runCommand("-accuracy", "-quick", "-json", path)
	if code != 0 || !strings.Contains(out, "PyTorch's max") {
		t.Fatalf("exit code %d: %s", code, err)
	}
	if f, err := results.Read(path); err != nil || f.Accuracy == nil || len(f.Accuracy.Cases) < 20 || !f.Quick || len(f.Speed) > 0 {
		t.Errorf("%+v, %v", f, err)
	}
}

// Without names, report takes the files of bench/results.
func TestReportOfCommitted(t *testing.T) {
	t.Chdir("..")
	code, _, err := runCommand("report", "-o", os.DevNull)
	if code != 0 || !strings.Contains(err, "agree") {
		t.Errorf("exit code %d: %s", code, err)
	}
}
