// Package wire has the messages between the clients and the workers of package shard, in
// binary, little-endian. Reading checks everything: a message that is accepted is the one that
// writing its contents makes, byte by byte, and nothing is allocated that is much larger than
// the message itself.
package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/attn-go/attn/kernel"
)

// ErrFormat is the kind of a [kernel.Error] about a message that no program of this version writes. It names the message and
// the byte.
var ErrFormat = errors.New("shard: a message of another form")

// reader reads a message. After the first problem it returns zeros.
type reader struct {
	message string
	data    []byte
	at      int
	err     error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = &kernel.Error{Where: fmt.Sprintf("shard: %s message, byte %d", r.message, r.at), Got: fmt.Sprintf(format, args...),
			Want: "what programs of this version write", Kind: ErrFormat}
	}
}

// bytes returns the next n bytes, in the memory of the message.
func (r *reader) bytes(n int) []byte {
	if r.err == nil && (n < 0 || n > len(r.data)-r.at) {
		r.fail("%d bytes are missing", n-(len(r.data)-r.at))
	}
	if r.err != nil {
		return nil
	}
	b := r.data[r.at : r.at+n : r.at+n]
	r.at += n
	return b
}

func (r *reader) u8() int {
	if b := r.bytes(1); b != nil {
		return int(b[0])
	}
	return 0
}

func (r *reader) u16() int {
	if b := r.bytes(2); b != nil {
		return int(binary.LittleEndian.Uint16(b))
	}
	return 0
}

// i31 returns a number of 32 bits that must be below 2^31.
func (r *reader) i31(what string) int {
	if b := r.bytes(4); b != nil {
		if x := binary.LittleEndian.Uint32(b); x <= math.MaxInt32 {
			return int(x)
		}
		r.fail("%s is beyond 2^31", what)
	}
	return 0
}

func (r *reader) i32() int {
	if b := r.bytes(4); b != nil {
		return int(int32(binary.LittleEndian.Uint32(b)))
	}
	return 0
}

func (r *reader) u64() uint64 {
	if b := r.bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (r *reader) f32() float32 {
	if b := r.bytes(4); b != nil {
		return math.Float32frombits(binary.LittleEndian.Uint32(b))
	}
	return 0
}

// count returns a number of things that take at least size bytes each.
func (r *reader) count(what string, size int) int {
	n := r.i31("the number of " + what)
	if r.err == nil && n > (len(r.data)-r.at)/size {
		r.fail("%d %s cannot follow in %d bytes", n, what, len(r.data)-r.at)
		return 0
	}
	return n
}

// name returns the name of a sequence: 1 to 64 bytes.
func (r *reader) name() string {
	n := r.u8()
	if r.err == nil && (n < 1 || n > MaxName) {
		r.fail("a name of %d bytes, want 1 to %d", n, MaxName)
	}
	return string(r.bytes(n))
}

// text returns a text of up to 255 bytes.
func (r *reader) text() string { return string(r.bytes(r.u8())) }

// end returns the first problem; bytes that are left over are one.
func (r *reader) end() error {
	if r.err == nil && r.at != len(r.data) {
		r.fail("%d bytes too many", len(r.data)-r.at)
	}
	return r.err
}

// MaxName is the most bytes of the name of a sequence.
const MaxName = 64

func appendU32(b []byte, x int) []byte { return binary.LittleEndian.AppendUint32(b, uint32(x)) }

func appendF32(b []byte, x float32) []byte {
	return binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
}

// appendText appends a text with its length, cut to 255 bytes.
func appendText(b []byte, s string) []byte {
	s = s[:min(len(s), 255)]
	return append(append(b, byte(len(s))), s...)
}
