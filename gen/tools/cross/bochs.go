package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Only Bochs emulates AVX-512. It emulates a whole machine, so the tests run under a Linux
// kernel there, started by the command guest. The machine boots from a CD with isolinux, the
// kernel, and an initramfs of the guest, the test binaries and their testdata.

// bochsPackages are the Debian packages that this needs beside the kernel. Without
// bochs-term, Bochs has no display that works without a screen.
var bochsPackages = []string{"bochs", "bochs-term", "isolinux", "syslinux-common", "xorriso"}

// bochsConfig is the configuration of a machine, whose CPU model is still to be filled in. A
// second has so many instructions (ips) that a timer interrupt is rare among them.
const bochsConfig = `
cpu: model=%s, count=1, ips=200000000
clock: sync=none
sound: waveoutdrv=dummy
memory: guest=512, host=512
romimage: file=/usr/share/bochs/BIOS-bochs-latest, options=fastboot
vgaromimage: file=/usr/share/bochs/VGABIOS-lgpl-latest
display_library: term
ata0-master: type=cdrom, path=cd.iso, status=inserted
boot: cdrom
com1: enabled=1, mode=file, dev=/dev/fd/3
log: bochs.log
panic: action=fatal
`

// bochsSlowness is how many times as long as on other platforms the tests of a package may
// take: Bochs interprets every instruction, and shares its core with other platforms.
const bochsSlowness = 2

// A machine is emulated by Bochs and runs tests.
type machine struct {
	dir     string // where bochs.log is
	console *bufio.Reader
	kill    func()
	pid     int
	last    time.Duration // cpuTime at the last call of took
}

// took returns the time of the CPU that the machine has taken since the last call, 0 if it has
// ended.
func (m *machine) took() time.Duration {
	before := m.last
	m.last = max(before, m.cpuTime())
	return m.last - before
}

// cpuTime returns the time of the CPU that the machine has taken so far, 0 if it has ended.
func (m *machine) cpuTime() time.Duration {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", m.pid))
	_, after, _ := bytes.Cut(stat, []byte(") ")) // of the name of the command
	fields := strings.Fields(string(after))
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * (time.Second / 100) // Linux counts in hundredths
}

// start starts the machine in a folder with a CD.
func (p *platform) start(ctx context.Context, dir string) (*machine, error) {
	for name, text := range map[string]string{
		"bochsrc": fmt.Sprintf(bochsConfig, p.cpu),
		"debug":   "continue\n", // Debian's Bochs has a debugger, which waits for this
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			return nil, err
		}
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	ctx, kill := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, p.emulator(), "-q", "-f", "bochsrc", "-rc", "debug")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TERM=vt100") // that the display library knows
	cmd.ExtraFiles = []*os.File{w}               // number 3
	err = cmd.Start()
	w.Close()
	if err != nil {
		kill()
		return nil, err
	}
	go cmd.Wait() // the console says what went wrong
	return &machine{dir: dir, console: bufio.NewReader(r), kill: kill, pid: cmd.Process.Pid}, nil
}

// output returns the output of the tests of the next package. If the kernel panics, the
// output ends with what it says, and if the machine ends, with the log of Bochs.
func (m *machine) output() ([]byte, error) {
	var out []byte
	for {
		line, err := m.console.ReadBytes('\n')
		line = bytes.ReplaceAll(line, []byte("\r\n"), []byte("\n"))
		line, end, ok := bytes.Cut(line, []byte("cross: end "))
		out = append(out, line...)
		if ok {
			_, result, _ := strings.Cut(strings.TrimSpace(string(end)), " ")
			if result != "ok" {
				return out, errors.New(result)
			}
			return out, nil
		}
		switch {
		case err != nil:
			log, _ := os.ReadFile(filepath.Join(m.dir, "bochs.log"))
			return append(out, tail(log, 20)...), fmt.Errorf("the machine ended: %w", err)
		case bytes.Contains(line, []byte("end Kernel panic")):
			return out, errors.New("the kernel panicked")
		}
	}
}
