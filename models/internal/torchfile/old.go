package torchfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/safetensors"
)

// oldBegin is what torch.save wrote before PyTorch 1.6, and writes with
// _use_new_zipfile_serialization=False: pickles of a number, of the version, of sizes of types, of
// the dictionary and of the keys of storages, and then for each of these the number of its numbers,
// as 8 bytes, and the numbers.
const oldBegin = "\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19." + "\x80\x02M\xe9\x03."

func isOld(r io.ReaderAt) bool {
	begin := make([]byte, len(oldBegin))
	n, _ := r.ReadAt(begin, 0)
	return strings.HasPrefix(oldBegin, string(begin[:n])) && n == len(begin)
}

// firstRead is how many bytes are read at first to find the pickles, which are shorter than the
// numbers, and mostRead is the most bytes that they may have.
const (
	firstRead = 1 << 18
	mostRead  = 1 << 28
)

// parseOld reads what such a file says about its tensors.
func parseOld(r io.ReaderAt, size int64) (map[string]safetensors.Info, error) {
	for n := int64(firstRead); ; n *= 4 {
		n = min(n, size)
		head := make([]byte, n)
		if m, err := r.ReadAt(head, 0); m < len(head) {
			return nil, &kernel.Error{Where: "the file", Got: err.Error(), Want: fmt.Sprintf("%d bytes", size)}
		}
		o := &oldFile{r: r, size: size}
		err := o.pickles(head)
		switch {
		case errors.Is(err, errShort) && n < min(size, mostRead):
			continue
		case err != nil:
			return nil, &kernel.Error{Where: "the pickles", Got: err.Error(), Want: "a dictionary of tensors in rows"}
		}
		if err := o.storages(); err != nil {
			return nil, err
		}
		return place(o.tensors, func(key string) (at, n int64, err error) {
			s := o.at[key]
			return s.begin, s.end - s.begin, nil
		})
	}
}

// An oldFile is what the pickles say, and where the storages lie.
type oldFile struct {
	r       io.ReaderAt
	size    int64
	tensors map[string]tensor
	keys    []string
	data    int64 // where the first storage begins
	at      map[string]part
}

// A part is where a storage lies in the file.
type part struct{ begin, end int64 }

// pickles reads the pickles at the beginning of the file.
func (o *oldFile) pickles(head []byte) error {
	sizes, rest, err := run(head[len(oldBegin):])
	if err != nil {
		return err
	}
	if d, ok := sizes.(dict); !ok || d["little_endian"] != any(true) {
		return errors.New("numbers that are not little-endian")
	}
	x, rest, err := run(rest)
	if err != nil {
		return err
	}
	if o.tensors, err = tensorsOf(x); err != nil {
		return err
	}
	keys, rest, err := run(rest)
	if err != nil {
		return err
	}
	all, ok := keys.(*list)
	if !ok {
		return errors.New("no list of storages")
	}
	for _, key := range all.items {
		text, ok := key.(string)
		if !ok {
			return fmt.Errorf("a storage with a name of the type %T", key)
		}
		o.keys = append(o.keys, text)
	}
	o.data = int64(len(head) - len(rest))
	return nil
}

// storages finds out where the storages lie.
func (o *oldFile) storages() error {
	known := map[string]storage{}
	for _, t := range o.tensors {
		known[t.storage.key] = t.storage
	}
	o.at = map[string]part{}
	pos := o.data
	for _, key := range o.keys {
		s, ok := known[key]
		var count [8]byte
		if n, _ := o.r.ReadAt(count[:], pos); n < len(count) || !ok || binary.LittleEndian.Uint64(count[:]) != uint64(s.n) {
			return &kernel.Error{Where: "storage " + key, Got: fmt.Sprintf("%d numbers", binary.LittleEndian.Uint64(count[:])), Want: fmt.Sprintf("%d, as the tensors of the file have", s.n)}
		}
		pos += int64(len(count))
		width := max(1, dtypes[s.dtype].size)
		if s.n > (o.size-pos)/width {
			return &kernel.Error{Where: "storage " + key, Got: fmt.Sprintf("the file ends at byte %d", o.size), Want: fmt.Sprintf("%d numbers of %d bytes from byte %d on", s.n, width, pos)}
		}
		o.at[key] = part{begin: pos, end: pos + s.n*width}
		pos = o.at[key].end
	}
	return nil
}
