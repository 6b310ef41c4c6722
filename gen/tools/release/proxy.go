package main

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	mod "golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// writeProxy writes the modules of the tree that have versions into a folder that can serve as
// GOPROXY, each under a version, with requires of that version.
func (t *tree) writeProxy(dir, version string) error {
	for _, m := range t.released() {
		if err := t.writeModule(dir, m, version); err != nil {
			return fmt.Errorf("%s: %w", m.path, err)
		}
	}
	return nil
}

// writeModule writes what a proxy has of a module: https://go.dev/ref/mod#goproxy-protocol.
func (t *tree) writeModule(dir string, m module, version string) error {
	escaped, err := mod.EscapePath(m.path)
	if err != nil {
		return err
	}
	dir = filepath.Join(dir, filepath.FromSlash(escaped), "@v")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	text, err := t.bumped(m, version)
	if err != nil {
		return err
	}
	for name, text := range map[string]string{
		"list":            version + "\n",
		version + ".info": fmt.Sprintf("{\"Version\":%q,\"Time\":\"2000-01-01T00:00:00Z\"}\n", version),
		version + ".mod":  string(text),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			return err
		}
	}
	f, err := os.Create(filepath.Join(dir, version+".zip"))
	if err != nil {
		return err
	}
	if err := zip.Create(f, mod.Version{Path: m.path, Version: version}, t.zipped(m, text)); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// zipped returns the files of a module: those below its folder that are in no other module. As the
// go command does, it gives a module without a LICENSE the root's.
func (t *tree) zipped(m module, gomod []byte) []zip.File {
	list := []zip.File{memory{"go.mod", gomod}}
	license := false
	for _, name := range t.files {
		within, ok := name, m.dir == "."
		if !ok {
			within, ok = strings.CutPrefix(name, m.dir+"/")
		}
		if !ok || within == "go.mod" {
			continue
		}
		license = license || within == "LICENSE"
		list = append(list, file{within, t.file(name)}) // zip.Create leaves out other modules
	}
	if !license {
		list = append(list, file{"LICENSE", t.file("LICENSE")})
	}
	return list
}

// A file is a file of the tree in a module's zip.
type file struct{ within, name string }

func (f file) Path() string                 { return f.within }
func (f file) Lstat() (os.FileInfo, error)  { return os.Lstat(f.name) }
func (f file) Open() (io.ReadCloser, error) { return os.Open(f.name) }

// memory is a file whose bytes are in memory.
type memory struct {
	within string
	text   []byte
}

func (f memory) Path() string                 { return f.within }
func (f memory) Lstat() (os.FileInfo, error)  { return f, nil }
func (f memory) Open() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(f.text)), nil }

// An entry of memory describes itself.
func (f memory) Name() string     { return f.within }
func (f memory) Size() int64      { return int64(len(f.text)) }
func (memory) Mode() fs.FileMode  { return 0o644 }
func (memory) ModTime() time.Time { return time.Time{} }
func (memory) IsDir() bool        { return false }
func (memory) Sys() any           { return nil }
