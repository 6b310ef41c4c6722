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

// largest is the length in bytes up to which paragraphs are joined to a passage: MiniLM reads
// no more than 256 tokens, which are about 1000 bytes.
const largest = 1000

// extensions are those of files that are searched.
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

// split cuts a text into passages: paragraphs, of which short ones are joined. The id of a
// passage is its place and a hash of its text. So a passage that has changed has another id.
func split(path, text string) []chromem.Document {
	var all []chromem.Document
	var passage []string
	line, start, size := 1, 1, 0
	flush := func() {
		if content := strings.TrimSpace(strings.Join(passage, "\n")); content != "" {
			hash := sha256.Sum256([]byte(content))
			all = append(all, chromem.Document{
				ID:       fmt.Sprintf("%s:%d:%x", path, start, hash[:8]),
				Content:  content,
				Metadata: map[string]string{"path": path, "line": strconv.Itoa(start)},
			})
		}
		passage, size = nil, 0
	}
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		if size > 0 && size+len(paragraph) > largest {
			flush()
		}
		if strings.TrimSpace(paragraph) != "" {
			if len(passage) == 0 {
				start = line + strings.Count(paragraph, "\n") - strings.Count(strings.TrimLeft(paragraph, "\n"), "\n")
			}
			passage, size = append(passage, paragraph), size+len(paragraph)
		}
		line += strings.Count(paragraph, "\n") + 2
	}
	flush()
	return all
}
