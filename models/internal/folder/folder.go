package folder

import (
	"os"
	"path/filepath"

	"github.com/attn-go/attn/models/internal/filemap"
)

// A Folder is the folder of a model.
type Folder struct{ dir string }

// At returns the folder of a path, of which nothing is read.
func At(dir string) *Folder { return &Folder{dir} }

// has returns whether a file exists.
func (f *Folder) has(name string) bool {
	_, err := os.Stat(f.Path(name))
	return err == nil
}

// Dir returns the path of the folder.
func (f *Folder) Dir() string { return f.dir }

// Path returns the path of a file of the folder, whose name has slashes.
func (f *Folder) Path(name string) string { return filepath.Join(f.dir, filepath.FromSlash(name)) }

// JSON reads a file of JSON. A file that is missing is an [fs.ErrNotExist].
func (f *Folder) JSON(name string, into any) error { return ReadJSON(f.Path(name), into) }

// ReadJSON reads a file of JSON. Errors name it; if it is missing, they are an [fs.ErrNotExist].
func ReadJSON(path string, into any) error { return filemap.ReadJSON(path, into) }
