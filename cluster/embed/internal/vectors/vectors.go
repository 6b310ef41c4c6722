// Package vectors writes the results of a run to files: JSON lines, NumPy's .npy, and
// the list of texts that have no vector. The bytes of a file depend on its rows alone.
//
// Row n of every file is record n of the input, from 0. A text without a vector has null or
// NaN instead, and a line in the list.
package vectors

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Row is the result of one record of the input.
type Row struct {
	Source string    // where the text is
	ID     string    // JSON of the input's id, or ""
	Reason string    // why there is no vector, "" if there is one
	Vector []float32 // [width], nil with a Reason
}

// A sink takes the rows of a file in order. close completes it.
type sink interface {
	put(position int64, r Row) error
	close() error
}

// makers make sinks by the ending of a file's name, for vectors of width numbers and a known
// number of rows.
var makers = map[string]func(w io.Writer, width int, rows int64) (sink, error){
	".jsonl": newJSONLines,
	".npy":   newNPY,
}

// Endings returns the endings of names that Write knows, sorted.
func Endings() []string {
	var all []string
	for e := range makers {
		all = append(all, e)
	}
	slices.Sort(all)
	return all
}

// Known tells whether Write knows the ending of a name.
func Known(name string) bool { return makers[strings.ToLower(filepath.Ext(name))] != nil }

// Write writes a file whose format the ending of its name tells. each calls its argument
// with all rows in order and is called once. The file appears when it is complete, instead
// of an older one.
func Write(name string, width int, rows int64, each func(put func(Row) error) error) error {
	newSink := makers[strings.ToLower(filepath.Ext(name))]
	if newSink == nil {
		return fmt.Errorf("%s: want a name that ends in %s", name, strings.Join(Endings(), " or "))
	}
	return replace(name, func(w io.Writer) error {
		s, err := newSink(w, width, rows)
		if err != nil {
			return err
		}
		return fill(s, each)
	})
}

// WriteRejected writes the list of rows without a vector as JSON lines: position, id, source
// and reason.
func WriteRejected(name string, each func(put func(Row) error) error) error {
	return replace(name, func(w io.Writer) error {
		s := &rejected{encoder(w)}
		return fill(s, each)
	})
}

func fill(s sink, each func(put func(Row) error) error) error {
	position := int64(0)
	err := each(func(r Row) error {
		err := s.put(position, r)
		position++
		return err
	})
	return errors.Join(err, s.close())
}

// replace writes a file by way of a temporary one beside it. That always has the same name,
// so that a process that dies leaves no more than the next one replaces.
func replace(name string, write func(w io.Writer) error) error {
	f, err := os.Create(filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+".tmp"))
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // fails if all went well
	w := bufio.NewWriterSize(f, 1<<20)
	err = write(w)
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// encoder returns an encoder of JSON lines.
func encoder(w io.Writer) *json.Encoder {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e
}
