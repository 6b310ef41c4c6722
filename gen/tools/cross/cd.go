package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// kernelOptions make a slow machine boot in seconds.
var kernelOptions = []string{
	"rdinit=/init",
	"console=ttyS0,115200",
	"loglevel=1", // the serial line is slow, too
	"nosmp",
	"nokaslr",
	"mitigations=off",
	"tsc=reliable", // else the kernel measures how fast it is
	"no_timer_check",
	"cryptomgr.notests",
	// The CPU reports a wrong size for what XSAVEC and XSAVES (bits 321 and 323) write, and none
	// for the state of PKU (515). The kernel would do without all of XSAVE, and so without AVX. The
	// CPU has fast copies of few bytes (FSRM, 580), but the bit that allows fast copies at all is
	// missing (IA32_MISC_ENABLE): then memmove of Linux 6.1 overwrites all memory.
	"clearcpuid=321,323,515,580",
	// Bochs 2.7 computes ADCX and ADOX wrongly, by which package math/big multiplies, and some
	// tests what they expect. With AVX512BW and GFNI, Go's garbage collector loses live objects
	// there. Linux hands what it does not know to the first program.
	"GODEBUG=cpu.adx=off,cpu.avx512bw=off",
}

// linuxConfig is the configuration of isolinux, whose kernel options are still to be filled
// in.
const linuxConfig = `
DEFAULT linux
LABEL linux
KERNEL linux
INITRD initrd
APPEND %s
`

// cd makes the CD in a folder, from the test binaries in another.
func (b *builder) cd(ctx context.Context, dir, binaries string, tests []testedPackage, took *time.Duration) error {
	kernel, err := linux(ctx)
	if err != nil {
		return err
	}
	guest := filepath.Join(dir, "guest")
	if err := b.golang(ctx, took, []string{"build", "-ldflags=-s -w", "-o", guest, "./gen/tools/cross/guest"}, "GOOS=linux", "GOARCH=amd64"); err != nil {
		return err
	}
	cd := filepath.Join(dir, "cd")
	if err := os.Mkdir(cd, 0o777); err != nil {
		return err
	}
	for name, from := range map[string]string{
		"linux":        kernel,
		"isolinux.bin": "/usr/lib/ISOLINUX/isolinux.bin",
		"ldlinux.c32":  "/usr/lib/syslinux/modules/bios/ldlinux.c32",
	} {
		data, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(cd, name), data, 0o666); err != nil {
			return err
		}
	}
	config := fmt.Sprintf(linuxConfig, strings.Join(kernelOptions, " "))
	if err := os.WriteFile(filepath.Join(cd, "isolinux.cfg"), []byte(config), 0o666); err != nil {
		return err
	}
	if err := b.initrd(filepath.Join(cd, "initrd"), guest, binaries, tests); err != nil {
		return err
	}
	xorriso := exec.CommandContext(ctx, "xorriso", "-as", "mkisofs", "-quiet", "-o", filepath.Join(dir, "cd.iso"),
		"-b", "isolinux.bin", "-no-emul-boot", "-boot-load-size", "4", "-boot-info-table", cd)
	if out, err := xorriso.CombinedOutput(); err != nil {
		return fmt.Errorf("xorriso: %w\n%s", err, out)
	}
	return nil
}

// initrd writes the initramfs to a file.
func (b *builder) initrd(file, guest, binaries string, tests []testedPackage) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	a := &initramfs{w: f}
	for _, dir := range []string{"dev", "proc", "tmp", "attn"} {
		a.folder(dir)
	}
	a.device("dev/console", 5, 1)
	a.device("dev/null", 1, 3)
	a.copyFile("init", guest)
	var list bytes.Buffer
	copied := map[string]bool{}
	for _, pkg := range tests {
		dir, binary := "attn", path.Base(pkg.path)+".test"
		for name := range strings.SplitSeq(pkg.path, "/") {
			dir += "/" + name
			a.folder(dir)
		}
		if !copied[dir] { // a package may be listed twice
			a.copyFile(dir+"/"+binary, filepath.Join(binaries, binary))
			a.copyFolder(dir+"/testdata", filepath.Join(b.root, pkg.path, "testdata"))
			copied[dir] = true
		}
		fmt.Fprintln(&list, "/"+dir, "./"+binary, strings.Join(pkg.flags(), " "))
	}
	a.file("tests", list.Bytes())
	if err := a.close(); err != nil {
		return err
	}
	return f.Close()
}
