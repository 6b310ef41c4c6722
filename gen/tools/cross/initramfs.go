package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// An initramfs is an archive in the format newc of cpio, which the Linux kernel unpacks
// into the root folder that it starts with.
type initramfs struct {
	w      io.Writer
	inodes int
	err    error // the first one; nothing is written after it
}

const (
	modeFolder = 0o040755
	modeFile   = 0o100755
	modeDevice = 0o020600 // a character device
)

// entry adds a file, a folder or a device.
func (a *initramfs) entry(name string, mode, major, minor int, data []byte) {
	if a.err != nil {
		return
	}
	a.inodes++
	// Magic number, inode, mode, uid, gid, links, time, size, two numbers of the device
	// that it lies on, two of the device that it is, length of the name, checksum.
	var b strings.Builder
	fmt.Fprintf(&b, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x", a.inodes, mode,
		0, 0, 1, 0, len(data), 0, 0, major, minor, len(name)+1, 0)
	b.WriteString(name)
	b.WriteString(strings.Repeat("\x00", 1+padding(b.Len()+1)))
	b.Write(data)
	b.WriteString(strings.Repeat("\x00", padding(len(data))))
	_, a.err = io.WriteString(a.w, b.String())
}

// padding returns how many bytes are missing to a multiple of 4.
func padding(n int) int { return -n & 3 }

func (a *initramfs) folder(name string) { a.entry(name, modeFolder, 0, 0, nil) }

func (a *initramfs) device(name string, major, minor int) {
	a.entry(name, modeDevice, major, minor, nil)
}

func (a *initramfs) file(name string, data []byte) { a.entry(name, modeFile, 0, 0, data) }

// copyFile adds a file of this machine.
func (a *initramfs) copyFile(name, from string) {
	data, err := os.ReadFile(from)
	if err != nil && a.err == nil {
		a.err = err
	}
	a.file(name, data)
}

// copyFolder adds a folder of this machine, if it exists, with all that it contains.
func (a *initramfs) copyFolder(name, from string) {
	if _, err := os.Stat(from); err != nil {
		return
	}
	err := filepath.WalkDir(from, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := path.Join(name, filepath.ToSlash(strings.TrimPrefix(file, from)))
		if d.IsDir() {
			a.folder(to)
		} else {
			a.copyFile(to, file)
		}
		return a.err
	})
	if a.err == nil {
		a.err = err
	}
}

// close ends the archive and returns the first error.
func (a *initramfs) close() error {
	a.entry("TRAILER!!!", 0, 0, 0, nil)
	return a.err
}
