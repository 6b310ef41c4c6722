package models

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// laterPart matches the names of GGUF files that are parts of a model, but its first one.
var laterPart = regexp.MustCompile(`-[0-9]{5}-of-[0-9]{5}\.gguf$`)

// List returns the paths of what may be models in a folder and those below it: GGUF files, of
// several parts the first one, and folders with config.json, without those in them. Names that
// begin with a dot are left out. [Describe] says what they are.
func List(dir string) (paths []string, err error) {
	files := os.DirFS(dir)
	err = fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name != "." && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
		case d.IsDir():
			if info, err := fs.Stat(files, path.Join(name, "config.json")); err == nil && info.Mode().IsRegular() {
				paths = append(paths, filepath.Join(dir, filepath.FromSlash(name)))
				return fs.SkipDir
			}
		case path.Ext(name) == ".gguf" && (!laterPart.MatchString(name) || strings.Contains(name, "-00001-of-")):
			paths = append(paths, filepath.Join(dir, filepath.FromSlash(name)))
		}
		return nil
	})
	return paths, err
}
