// Package wire encodes the messages of corpus embedding: a [Job] to a worker, and its
// [Result].
//
// A message is four letters that say which kind it is, then its fields, then the SHA-256 of
// all that. Numbers are unsigned, of 32 bits, little endian; a string is its length and its
// bytes. Decoding accepts what encoding writes and nothing else, and allocates no more than
// a small multiple of the message.
package wire

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/attn-go/attn/kernel"
)

// A Hash is the SHA-256 with which a message ends. That of a job identifies what it asks
// for: jobs of the same model and texts have the same one, whoever sends them.
type Hash = [sha256.Size]byte

// The limits of messages. Decoding refuses what exceeds them.
const (
	MaxTexts  = 1024     // of a job
	MaxWidth  = 16384    // numbers of a vector
	MaxReason = 1024     // bytes
	MaxBytes  = 16 << 20 // of a message
)

// JobOverhead and ResultOverhead bound what messages have beside texts, each with
// TextOverhead, and vectors.
const (
	JobOverhead    = 128
	TextOverhead   = 4
	ResultOverhead = 256
)

// A Job asks for the vectors of texts.
type Job struct {
	Model Hash     // digest of the model
	Texts []string // 1 to MaxTexts, UTF-8
}

// A Result answers a job.
type Result struct {
	Job    Hash // of the job that it answers
	Model  Hash
	Status Status
	Reason string      // why there are no vectors; "" for Done
	Width  int         // numbers of a vector; 0 unless Done
	Values [][]float32 // [texts][Width], finite; none unless Done
}

// A Status says how a job ended.
type Status byte

// The ways in which a job ends.
const (
	Done    Status = iota // with vectors
	Failed                // every try failed
	Refused               // the worker does not do such jobs
)

const (
	jobMagic    = "aeJ1"
	resultMagic = "aeR1"
)

// Encode returns the message and its hash.
func (j *Job) Encode() ([]byte, Hash) {
	b := append([]byte(jobMagic), j.Model[:]...)
	b = appendInt(b, len(j.Texts))
	for _, t := range j.Texts {
		b = appendString(b, t)
	}
	return seal(b)
}

// DecodeJob reads what [Job.Encode] writes. The error is a [*kernel.Error].
func DecodeJob(data []byte) (*Job, Hash, error) {
	r, hash, err := open(data, "job", jobMagic)
	if err != nil {
		return nil, hash, err
	}
	j := &Job{Model: r.hash()}
	n := r.int(1, MaxTexts)
	for range n {
		t := r.string(MaxBytes)
		if !utf8.ValidString(t) {
			r.fail("texts in UTF-8")
		}
		if r.err != nil {
			break
		}
		j.Texts = append(j.Texts, t)
	}
	if err := r.end(); err != nil {
		return nil, hash, err
	}
	return j, hash, nil
}

// Encode returns the message.
func (r *Result) Encode() []byte {
	b := append([]byte(resultMagic), r.Job[:]...)
	b = append(b, r.Model[:]...)
	b = append(b, byte(r.Status))
	b = appendString(b, r.Reason)
	b = appendInt(b, r.Width)
	b = appendInt(b, len(r.Values))
	for _, v := range r.Values {
		for _, x := range v {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
	}
	b, _ = seal(b)
	return b
}

// DecodeResult reads what [Result.Encode] writes. The error is a [*kernel.Error].
func DecodeResult(data []byte) (*Result, error) {
	r, _, err := open(data, "result", resultMagic)
	if err != nil {
		return nil, err
	}
	x := &Result{Job: r.hash(), Model: r.hash(), Status: Status(r.byte())}
	x.Reason = r.string(MaxReason)
	switch {
	case x.Status > Refused:
		r.fail("a known status")
	case !utf8.ValidString(x.Reason):
		r.fail("a reason in UTF-8")
	case (x.Status == Done) != (x.Reason == ""):
		r.fail("either vectors or a reason")
	}
	if x.Status == Done {
		x.Width = r.int(1, MaxWidth)
		x.Values = r.vectors(r.int(1, MaxTexts), x.Width)
	} else {
		r.int(0, 0)
		r.int(0, 0)
	}
	if err := r.end(); err != nil {
		return nil, err
	}
	return x, nil
}

// Cut returns the part of a reason that a result has room for, in UTF-8.
func Cut(reason string) string {
	if len(reason) <= MaxReason {
		return reason
	}
	n := MaxReason
	for n > 0 && !utf8.RuneStart(reason[n]) {
		n--
	}
	return reason[:n]
}

func appendInt(b []byte, n int) []byte { return binary.LittleEndian.AppendUint32(b, uint32(n)) }

func appendString(b []byte, s string) []byte { return append(appendInt(b, len(s)), s...) }

// seal appends the hash.
func seal(b []byte) ([]byte, Hash) {
	h := sha256.Sum256(b)
	return append(b, h[:]...), h
}

// A reader reads the fields of a message. After the first error it returns zeros.
type reader struct {
	kind string
	rest []byte
	err  error
}

// open checks the kind and the hash of a message.
func open(data []byte, kind, magic string) (*reader, Hash, error) {
	r := &reader{kind: kind}
	n := len(data) - sha256.Size
	switch {
	case len(data) > MaxBytes:
		r.fail(fmt.Sprintf("at most %d bytes", MaxBytes))
	case n < len(magic) || string(data[:len(magic)]) != magic:
		r.fail(fmt.Sprintf("%q at its beginning and a hash", magic))
	case sha256.Sum256(data[:n]) != Hash(data[n:]):
		r.fail("the hash of the bytes at its end")
	}
	if r.err != nil {
		return nil, Hash{}, r.err
	}
	r.rest = data[len(magic):n]
	return r, Hash(data[n:]), nil
}

func (r *reader) fail(want string) {
	if r.err == nil {
		r.err = &kernel.Error{Where: "embed: a message", Got: "no " + r.kind, Want: want}
	}
}

// take returns the next n bytes.
func (r *reader) take(n int) []byte {
	if r.err == nil && n > len(r.rest) {
		r.fail("more bytes")
	}
	if r.err != nil {
		return make([]byte, min(n, sha256.Size))
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) hash() Hash { return Hash(r.take(sha256.Size)) }

func (r *reader) byte() byte { return r.take(1)[0] }

// int returns a number from lo to hi.
func (r *reader) int(lo, hi int) int {
	n := int64(binary.LittleEndian.Uint32(r.take(4)))
	if r.err == nil && (n < int64(lo) || n > int64(hi)) {
		r.fail(fmt.Sprintf("a number from %d to %d", lo, hi))
	}
	if r.err != nil {
		return 0
	}
	return int(n)
}

func (r *reader) string(limit int) string {
	n := r.int(0, limit)
	b := r.take(n)
	if r.err != nil {
		return ""
	}
	return string(b)
}

// vectors returns n vectors of finite numbers.
func (r *reader) vectors(n, width int) [][]float32 {
	if r.err == nil && n*width*4 != len(r.rest) {
		r.fail("as many numbers as vectors have")
	}
	if r.err != nil {
		return nil
	}
	all := make([]float32, n*width)
	for i := range all {
		bits := binary.LittleEndian.Uint32(r.rest[4*i:])
		if bits&0x7f800000 == 0x7f800000 {
			r.fail("finite numbers")
		}
		all[i] = math.Float32frombits(bits)
	}
	r.rest = nil
	vectors := make([][]float32, n)
	for i := range vectors {
		vectors[i] = all[i*width : (i+1)*width : (i+1)*width]
	}
	return vectors
}

// end returns the error of the message, also if bytes are left.
func (r *reader) end() error {
	if len(r.rest) > 0 {
		r.fail("nothing more")
	}
	return r.err
}
