// Command guest is the first process of the machine that Bochs emulates for cross. It runs
// the tests that the file /tests lists: a line is a folder and the words of a command,
// separated by spaces. The serial console shows their output and, after each, a line
//
//	cross: end FOLDER RESULT
//
// whose RESULT is ok or an error. Then it waits: cross ends the machine.
package main

import (
	"fmt"
	"log"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

func main() {
	// If this fails, the kernel panics, and cross sees that on the console.
	if err := syscall.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		log.Fatal("/proc: ", err)
	}
	tests, err := os.ReadFile("/tests")
	if err != nil {
		log.Fatal(err)
	}
	for line := range strings.Lines(string(tests)) {
		words := strings.Fields(line)
		fmt.Printf("cross: end %s %s\n", words[0], run(words[0], words[1:]))
	}
	for {
		time.Sleep(time.Hour)
	}
}

// run runs a command in a folder and returns its result.
func run(dir string, words []string) string {
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TMPDIR=/tmp")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stdout
	if err := cmd.Run(); err != nil {
		return err.Error()
	}
	return "ok"
}
