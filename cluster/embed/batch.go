package embed

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"

	"github.com/attn-go/attn/cluster/embed/internal/corpus"
	"github.com/attn-go/attn/cluster/embed/internal/journal"
)

// A reader reads the input of a run.
type reader struct {
	corpus   *corpus.Reader
	position int64   // how many records were taken
	held     *record // the next one, if it is known

	texts int // most texts of a job
	bytes int // most bytes of a job's texts
}

// A record is a record of the input with its entry, which lacks a vector.
type record struct {
	corpus.Record
	entry journal.Entry
}

// key is a hash of all that the input has for a record.
func key(r corpus.Record) (k [sha256.Size]byte) {
	h := sha256.New()
	for _, s := range []string{r.Source, r.ID, r.Reason, r.Text} {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(s))))
		h.Write([]byte(s))
	}
	h.Sum(k[:0])
	return k
}

// peek returns the next record and does not take it.
func (r *reader) peek() (*record, error) {
	if r.held == nil {
		c, err := r.corpus.Next()
		if err != nil {
			return nil, err
		}
		r.held = &record{c, journal.Entry{Key: key(c), Source: c.Source, ID: c.ID, Reason: c.Reason}}
	}
	return r.held, nil
}

// take takes the record that peek returned.
func (r *reader) take() {
	r.held = nil
	r.position++
}

// batch returns the next records that fit into a job, io.EOF after the last ones.
func (r *reader) batch() (batch, error) {
	b, size := batch{}, 0
	for len(b.entries) < r.texts {
		x, err := r.peek()
		if errors.Is(err, io.EOF) && len(b.entries) > 0 {
			break
		}
		if err != nil {
			return b, err
		}
		size += len(x.Text)
		if len(b.texts) > 0 && size > r.bytes {
			break
		}
		r.take()
		b.bytes += x.Bytes
		b.entries = append(b.entries, x.entry)
		if x.Reason == "" {
			b.texts = append(b.texts, x.Text)
		}
	}
	return b, nil
}

// send sends all batches of the input, and closes the input. It closes to only if it got to
// the end of the input: after an error of reading nothing must look complete.
func (r *reader) send(ctx context.Context, to chan<- batch) error {
	defer r.corpus.Close()
	for {
		b, err := r.batch()
		if errors.Is(err, io.EOF) {
			close(to)
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case to <- b:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
