package passage

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// sniffed is how much of a file decides whether it is binary.
const sniffed = 8000

// Binary returns whether a file looks binary, as git and grep decide it: whether a zero byte is
// among its first 8000. The reader that it returns has the whole file. The error comes from r.
func Binary(r io.Reader) (io.Reader, bool, error) {
	b := bufio.NewReaderSize(r, sniffed)
	head, err := b.Peek(sniffed)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return b, bytes.IndexByte(head, 0) >= 0, err
}
