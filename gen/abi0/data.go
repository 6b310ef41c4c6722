package abi0

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// Lines returns words as they lie in memory, in the bytes of lines of read-only data. Go's
// assembler takes a string of any length for a datum.
func Lines(words []uint32) (list []string) {
	for line := range slices.Chunk(words, 16) {
		var b []byte
		for _, w := range line {
			b = binary.LittleEndian.AppendUint32(b, w)
		}
		list = append(list, string(b))
	}
	return list
}

// Data returns the assembly of read-only data.
func Data(name string, words []uint32) string {
	var b strings.Builder
	at := 0
	for _, line := range Lines(words) {
		fmt.Fprintf(&b, "DATA %s<>+%d(SB)/%d, $%+q\n", name, at, len(line), line)
		at += len(line)
	}
	fmt.Fprintf(&b, "GLOBL %s<>(SB), RODATA|NOPTR, $%d\n", name, at)
	return b.String()
}
