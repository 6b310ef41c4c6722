package fetch

import (
	"archive/zip"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/attn-go/attn/models/hub"
	"github.com/attn-go/attn/models/internal/digests"
)

// state returns what is wrong with a file, "" if nothing is.
func (f *file) state(folder string) (problem string, err error) {
	sum, err := digests.OfFile(filepath.Join(folder, filepath.FromSlash(f.path)))
	if errors.Is(err, fs.ErrNotExist) {
		return "missing", nil
	}
	if err != nil {
		return "", err
	}
	if got := hex.EncodeToString(sum[:]); got != f.sha256 {
		return fmt.Sprintf("damaged: sha256 %s, want %s", got, f.sha256), nil
	}
	return "", nil
}

// wanted returns the files that are missing or damaged, and what is wrong with the first one.
func (m *model) wanted(folder string) (files []file, problem string, err error) {
	for _, f := range m.files {
		p, err := f.state(filepath.Join(folder, m.folder))
		if err != nil {
			return nil, "", err
		}
		if p != "" {
			files = append(files, f)
			if problem == "" {
				problem = fmt.Sprintf("%s is %s", filepath.Join(folder, m.folder, filepath.FromSlash(f.path)), p)
			}
		}
	}
	return files, problem, nil
}

// report writes a line that says whether the model is there.
func (m *model) report(folder string, out io.Writer) error {
	_, problem, err := m.wanted(folder)
	switch {
	case err != nil:
		return err
	case problem != "":
		_, err = fmt.Fprintf(out, "NOT RUN: tests with %s: %s; attn fetch downloads it\n", m.name, problem)
	default:
		_, err = fmt.Fprintf(out, "%s: in %s\n", m.name, filepath.Join(folder, m.folder))
	}
	return err
}

// fetch downloads the files of the model that are missing or damaged.
func (m *model) fetch(ctx context.Context, folder string, out io.Writer, download func(ctx context.Context, spec, dir string) error) error {
	files, problem, err := m.wanted(folder)
	if err != nil {
		return err
	}
	if problem == "" {
		return m.report(folder, out)
	}
	fmt.Fprintf(out, "%s: %s, downloading %s\n", m.name, problem, m.spec)
	if err := m.unpackPackage(ctx, folder, files, download); err != nil {
		return fmt.Errorf("%s: %w\nBy hand: download the wheel from %s,\nunzip it, and copy the files in %s to %s", m.name, err, m.page, m.in, filepath.Join(folder, m.folder))
	}
	return m.report(folder, out)
}

// unpackPackage downloads the package of the model and unpacks some of its files.
func (m *model) unpackPackage(ctx context.Context, folder string, files []file, download func(ctx context.Context, spec, dir string) error) error {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(folder, ".download-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := download(ctx, m.spec, dir); err != nil {
		return err
	}
	wheels, err := filepath.Glob(filepath.Join(dir, "*.whl"))
	if err != nil {
		return err
	}
	if len(wheels) != 1 {
		return fmt.Errorf("the download gave %d wheels, want 1", len(wheels))
	}
	z, err := zip.OpenReader(wheels[0])
	if err != nil {
		return err
	}
	defer z.Close()
	for _, f := range files {
		if err := f.unpack(z, path.Join(m.in, f.path), filepath.Join(folder, m.folder)); err != nil {
			return err
		}
	}
	return nil
}

// unpack writes a file of an archive to a folder. No other program ever sees a part of it.
func (f *file) unpack(archive fs.FS, name, folder string) error {
	r, err := archive.Open(name)
	if err != nil {
		return err
	}
	defer r.Close()
	if err := hub.WriteFile(filepath.Join(folder, filepath.FromSlash(f.path)), r, f.sha256); err != nil {
		return fmt.Errorf("%s in the package: %w", name, err)
	}
	return nil
}
