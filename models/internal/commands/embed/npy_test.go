package embed

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"testing"
)

// readNPY reads a file of NumPy's format, version 1.0, that holds rows of 384 float32.
func readNPY(t *testing.T, path string) []float32 {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(data) < 10 || !bytes.HasPrefix(data, []byte("\x93NUMPY\x01\x00")) {
		t.Fatalf("%s: no header", path)
	}
	begin := 10 + int(binary.LittleEndian.Uint16(data[8:]))
	if begin%64 != 0 || begin > len(data) || data[begin-1] != '\n' {
		t.Fatalf("%s: the data begin at byte %d", path, begin)
	}
	var rows, width int
	const form = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }"
	if _, err := fmt.Sscanf(string(data[10:begin]), form, &rows, &width); err != nil || width != 384 {
		t.Fatalf("%s: header %q: %v", path, data[10:begin], err)
	}
	x := make([]float32, rows*width)
	if n, err := binary.Decode(data[begin:], binary.LittleEndian, x); err != nil || begin+n != len(data) {
		t.Fatalf("%s: %d bytes of data for %d rows: %v", path, len(data)-begin, rows, err)
	}
	return x
}
