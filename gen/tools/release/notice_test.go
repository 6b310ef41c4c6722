package main

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// TestNotices: every folder testdata has a file NOTICE, in which a line says of every file where it
// comes from and what its license is.
func TestNotices(t *testing.T) {
	tree, err := readTree(t.Context())
	if err != nil {
		t.Skipf("NOT RUN: the origin of data, as the tree is no clone: %v", err)
	}
	faults, err := tree.noticeFaults()
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range faults {
		t.Error(fault)
	}
}

// TestNoticeFaults: TestNotices finds files without a line, lines without a file, and lines that
// lack something.
func TestNoticeFaults(t *testing.T) {
	tree := testTree(t)
	want := []string{"b/c/testdata has no NOTICE"}
	for _, notice := range []string{"", "intro\n\nx | made | attn\nold/ | made | attn\ny* | | attn\n", "x* | made | attn\n"} {
		if notice != "" {
			for name, text := range map[string]string{"NOTICE": notice, "y": "", "sub/testdata/z": ""} {
				name = tree.file("b/c/testdata", name)
				if err := os.MkdirAll(path.Dir(name), 0o777); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			tree = readAgain(t)
			want = []string{
				"b/c/testdata/NOTICE has no line for sub/testdata/z",
				"b/c/testdata/NOTICE: no file is old/",
				`b/c/testdata/NOTICE: "y* | | attn" lacks an origin or a license`,
			}
			if !strings.Contains(notice, "old") {
				want = []string{"b/c/testdata/NOTICE has no line for sub/testdata/z", "b/c/testdata/NOTICE has no line for y"}
			}
		}
		got, err := tree.noticeFaults()
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%q: faults %q, want %q", notice, got, want)
		}
	}
}

// readAgain reads the tree again.
func readAgain(t *testing.T) *tree {
	t.Helper()
	tree, err := readTree(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// noticeFaults says what the files NOTICE lack.
func (t *tree) noticeFaults() (list []string, err error) {
	folders := map[string][]string{} // the files of the outermost folder testdata, from there
	for _, name := range t.files {
		if before, within, ok := strings.Cut("/"+name, "/testdata/"); ok {
			dir := strings.TrimPrefix(before+"/testdata", "/")
			folders[dir] = append(folders[dir], within)
		}
	}
	for dir, files := range folders {
		if !slices.Contains(files, "NOTICE") {
			list = append(list, dir+" has no NOTICE")
			continue
		}
		text, err := os.ReadFile(t.file(dir, "NOTICE"))
		if err != nil {
			return nil, err
		}
		list = append(list, faultsOf(dir+"/NOTICE", string(text), files)...)
	}
	return list, nil
}

// faultsOf compares the lines "PATTERN | ORIGIN | LICENSE" of a NOTICE with files. Lines without |
// are for readers.
func faultsOf(name, text string, files []string) (list []string) {
	named := map[string]bool{"NOTICE": true}
	for line := range strings.Lines(text) {
		parts := strings.Split(strings.TrimSpace(line), "|")
		if len(parts) == 1 || strings.HasSuffix(line, "pattern | origin | license.\n") {
			continue
		}
		for i := range parts {
			parts[i] = strings.TrimSpace(parts[i])
		}
		if len(parts) != 3 || slices.Contains(parts, "") {
			list = append(list, fmt.Sprintf("%s: %q lacks an origin or a license", name, strings.TrimSpace(line)))
		}
		found := false
		for _, file := range files {
			if ok, _ := path.Match(parts[0], file); ok || strings.HasSuffix(parts[0], "/") && strings.HasPrefix(file, parts[0]) {
				found, named[file] = true, true
			}
		}
		if !found {
			list = append(list, fmt.Sprintf("%s: no file is %s", name, parts[0]))
		}
	}
	for _, file := range files {
		if !named[file] {
			list = append(list, fmt.Sprintf("%s has no line for %s", name, file))
		}
	}
	return list
}
