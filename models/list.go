package models

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// laterPart matches the names of GGUF files that are parts of a model, but its first one.
var laterPart = regexp.MustCompile(`-[0-9]{5}-of-[0-9]{5}\.gguf$`)

// List returns the paths of files and folders that may be models, in a folder and below: GGUF
// files, or the first of their parts, and folders with config.json. It does not look into these
// folders, and leaves out names that begin with a dot. [Describe] says what a path is.
func List(dir string) (paths []string, err error) {
	files := os.DirFS(dir)
	err = fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			if bad := (*fs.PathError)(nil); errors.As(err, &bad) { // whose path is relative to dir
				err = &fs.PathError{Op: bad.Op, Path: filepath.Join(dir, filepath.FromSlash(bad.Path)), Err: bad.Err}
			}
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
