package wire

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
)

var (
	job    = Job{Model: Hash{1}, Texts: []string{"one", "", "zwölf"}}
	done   = Result{Job: Hash{2}, Model: Hash{1}, Width: 2, Values: [][]float32{{1, -2}, {0, float32(math.Copysign(0, -1))}}}
	failed = Result{Job: Hash{2}, Model: Hash{1}, Status: Failed, Reason: "5 deliveries"}
)

func TestRoundTrip(t *testing.T) {
	data, hash := job.Encode()
	got, gotHash, err := DecodeJob(data)
	if err != nil || !reflect.DeepEqual(got, &job) || gotHash != hash {
		t.Errorf("got %+v, %v", got, err)
	}
	if size := JobOverhead + 3*TextOverhead + len("onezwölf"); len(data) > size {
		t.Errorf("a job of %d bytes, want at most %d", len(data), size)
	}
	for _, r := range []Result{done, failed} {
		got, err := DecodeResult(r.Encode())
		if err != nil || !reflect.DeepEqual(got, &r) {
			t.Errorf("got %+v, %v, want %+v", got, err, r)
		}
	}
	if n := len(done.Encode()); n > ResultOverhead+16 {
		t.Errorf("a result of %d bytes, want at most %d", n, ResultOverhead+16)
	}
}

// isFormatError fails the test unless err is a kernel.Error.
func isFormatError(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.As(err, new(*kernel.Error)) {
		t.Errorf("%s: got %v, want a *kernel.Error", what, err)
	}
}

// TestDamage cuts messages at each byte, changes each byte, and appends one.
func TestDamage(t *testing.T) {
	jobData, _ := job.Encode()
	for _, data := range [][]byte{jobData, done.Encode(), failed.Encode()} {
		for at := range data {
			bad := bytes.Clone(data)
			bad[at] ^= 1
			for _, b := range [][]byte{data[:at], bad, append(bytes.Clone(data), 0)} {
				_, _, err := DecodeJob(b)
				isFormatError(t, "job", err)
				_, err = DecodeResult(b)
				isFormatError(t, "result", err)
			}
		}
	}
}

// resealed returns data with the hash of what precedes it.
func resealed(data []byte) []byte {
	b, _ := seal(bytes.Clone(data[:len(data)-sha256.Size]))
	return b
}

// TestHostile expects messages with a right hash and wrong fields to be refused.
func TestHostile(t *testing.T) {
	for name, j := range map[string]Job{
		"no texts": {}, "too many": {Texts: make([]string, MaxTexts+1)}, "not UTF-8": {Texts: []string{"\xff"}},
		"too large": {Texts: []string{strings.Repeat("x", MaxBytes)}},
	} {
		data, _ := j.Encode()
		_, _, err := DecodeJob(data)
		isFormatError(t, name, err)
	}
	inf := float32(math.Inf(1))
	for name, r := range map[string]Result{
		"no vectors": {Width: 1}, "width 0": {Values: [][]float32{{}}}, "status": {Status: 3, Reason: "x"},
		"too wide": {Width: MaxWidth + 1, Values: [][]float32{make([]float32, MaxWidth+1)}},
		"ragged":   {Width: 2, Values: [][]float32{{1}, {1, 2}}}, "infinite": {Width: 1, Values: [][]float32{{inf}}},
		"no reason": {Status: Failed}, "reason": {Status: Failed, Reason: strings.Repeat("x", MaxReason+1)},
		"failed with vectors": {Status: Failed, Reason: "x", Width: 1, Values: [][]float32{{1}}},
		"done with a reason":  {Reason: "x", Width: 1, Values: [][]float32{{1}}}, "reason not UTF-8": {Status: Failed, Reason: "\xff"},
	} {
		_, err := DecodeResult(r.Encode())
		isFormatError(t, name, err)
	}
	data, _ := job.Encode()
	huge := bytes.Clone(data)
	copy(huge[4+32+4:], "\xff\xff\xff\xff") // the length of the first text
	_, _, err := DecodeJob(resealed(huge))
	isFormatError(t, "a text of 4 GiB", err)
}

func TestCut(t *testing.T) {
	if got := Cut("short"); got != "short" {
		t.Errorf("got %q", got)
	}
	if got := Cut(strings.Repeat("x", MaxReason-1) + "é"); got != strings.Repeat("x", MaxReason-1) {
		t.Errorf("got %d bytes", len(got))
	}
}

// FuzzDecode expects of all bytes an error or a message that encodes to the same bytes. Half
// of the inputs get a right hash, so that the fields are reached.
func FuzzDecode(f *testing.F) {
	jobData, _ := job.Encode()
	for _, data := range [][]byte{jobData, done.Encode(), failed.Encode()} {
		f.Add(data, false)
		f.Add(data[:len(data)-sha256.Size], true)
	}
	f.Fuzz(func(t *testing.T, data []byte, sealed bool) {
		if sealed {
			data, _ = seal(bytes.Clone(data))
		}
		if j, hash, err := DecodeJob(data); err == nil {
			if again, h := j.Encode(); !bytes.Equal(again, data) || h != hash {
				t.Errorf("job %x became %x", data, again)
			}
		} else {
			isFormatError(t, "job", err)
		}
		if r, err := DecodeResult(data); err == nil {
			if again := r.Encode(); !bytes.Equal(again, data) {
				t.Errorf("result %x became %x", data, again)
			}
		} else {
			isFormatError(t, "result", err)
		}
	})
}
