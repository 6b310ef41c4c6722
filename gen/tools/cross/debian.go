package main

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// apt runs apt-get as root.
func apt(ctx context.Context, args ...string) error {
	words := append([]string{"env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q"}, args...)
	if os.Geteuid() != 0 {
		words = append([]string{"sudo"}, words...)
	}
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("apt-get %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// installPackages installs packages by apt.
func installPackages(ctx context.Context, names ...string) error {
	fmt.Println("installing", strings.Join(names, ", "))
	if err := apt(ctx, "update"); err != nil {
		return err
	}
	return apt(ctx, append([]string{"install", "-y", "--no-install-recommends"}, names...)...)
}

// linux returns the path of a Linux kernel for x86-64: Debian's for virtual machines, which is
// small. It is downloaded and not installed, because a kernel that is installed changes how the
// machine boots. Later runs find it in the user's cache.
func linux(ctx context.Context) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	cache = filepath.Join(cache, "attn-cross")
	if err := os.MkdirAll(cache, 0o777); err != nil {
		return "", err
	}
	image, err := findLinux(ctx, cache)
	if err != nil { // the lists of packages may be missing, or too old for the server
		if err := apt(ctx, "update"); err != nil {
			return "", err
		}
		image, err = findLinux(ctx, cache)
	}
	return image, err
}

// findLinux looks for the newest kernel that apt knows of in the cache, and downloads it if
// it is not there.
func findLinux(ctx context.Context, cache string) (string, error) {
	const meta = "linux-image-cloud-amd64" // depends on the newest kernel
	out, err := exec.CommandContext(ctx, "apt-cache", "depends", meta).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("apt-cache depends %s: %w\n%s", meta, err, out)
	}
	pkg := regexp.MustCompile(`linux-image-\d\S*`).FindString(string(out))
	if pkg == "" {
		return "", fmt.Errorf("apt knows no kernel that %s depends on:\n%s", meta, out)
	}
	image := filepath.Join(cache, pkg)
	if _, err := os.Stat(image); err == nil {
		return image, nil
	}
	dir, err := os.MkdirTemp(cache, "download")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	download := exec.CommandContext(ctx, "apt-get", "-q", "download", pkg)
	download.Dir = dir
	if out, err := download.CombinedOutput(); err != nil {
		return "", fmt.Errorf("apt-get download %s: %w\n%s", pkg, err, out)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.deb"))
	if len(files) != 1 {
		return "", fmt.Errorf("apt-get download %s: %d files", pkg, len(files))
	}
	unpacked := filepath.Join(dir, "vmlinuz")
	if err := unpackLinux(ctx, unpacked, files[0]); err != nil {
		return "", fmt.Errorf("%s: %w", pkg, err)
	}
	return image, os.Rename(unpacked, image)
}

// unpackLinux writes the kernel image in a package to a file.
func unpackLinux(ctx context.Context, file, pkg string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // all that follows the image in the package is not needed
	cmd := exec.CommandContext(ctx, "dpkg-deb", "--fsys-tarfile", pkg)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() { cancel(); cmd.Wait() }()
	for r := tar.NewReader(out); ; {
		h, err := r.Next()
		if err == io.EOF {
			return errors.New("has no kernel image")
		}
		if err != nil {
			return err
		}
		if strings.HasPrefix(h.Name, "./boot/vmlinuz-") {
			image, err := io.ReadAll(r)
			if err != nil {
				return err
			}
			return os.WriteFile(file, image, 0o666)
		}
	}
}
