package semantic

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/philippgille/chromem-go"
)

// largest is the length in bytes that a passage has at most, if its lines are not longer.
// MiniLM reads no more than 256 tokens, which are about 1000 bytes of English.
const largest = 800

// extensions are the extensions of files that are searched.
var extensions = []string{".md", ".txt", ".rst", ".go"}

// passages returns the passages of all files below a folder.
func passages(folder fs.FS) ([]chromem.Document, error) {
	var all []chromem.Document
	err := fs.WalkDir(folder, ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && path != ".":
			return fs.SkipDir
		case !entry.Type().IsRegular() || !slices.Contains(extensions, filepath.Ext(path)):
			return nil
		}
		data, err := fs.ReadFile(folder, path)
		if err != nil {
			return err
		}
		if utf8.Valid(data) {
			all = append(all, split(path, string(data))...)
		}
		return nil
	})
	return all, err
}

// split cuts a text into passages: paragraphs, of which short ones are joined and long ones
// cut between lines. The id of a passage is its place and a hash of its text. So a passage
// that has changed has another id.
func split(path, text string) []chromem.Document {
	var all []chromem.Document
	var passage strings.Builder
	start := 0
	flush := func() {
		if content := strings.TrimSpace(passage.String()); content != "" {
			hash := sha256.Sum256([]byte(content))
			all = append(all, chromem.Document{
				ID:       fmt.Sprintf("%s:%d:%x", path, start, hash[:8]),
				Content:  content,
				Metadata: map[string]string{"path": path, "line": strconv.Itoa(start)},
			})
		}
		passage.Reset()
	}
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		blank := strings.TrimSpace(line) == ""
		paragraph := 0 // the length of the one that begins here
		for j := i; j < len(lines) && !blank && strings.TrimSpace(lines[j]) != ""; j++ {
			paragraph += len(lines[j])
		}
		first := i == 0 || strings.TrimSpace(lines[i-1]) == ""
		if passage.Len()+len(line) > largest || first && passage.Len()+paragraph > largest {
			flush()
		}
		if passage.Len() == 0 {
			if blank {
				continue
			}
			start = i + 1
		}
		passage.WriteString(line)
	}
	flush()
	return all
}
