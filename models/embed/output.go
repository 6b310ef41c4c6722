package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// A sink takes embeddings chunk by chunk. close completes what was written: it may be called
// after any chunk.
type sink interface {
	put(lines []line, vectors [][]float32) error
	close() error
}

// formats make sinks by the ending of the file's name. The writer is also an io.Seeker.
var formats = map[string]func(w io.WriteSeeker, width int, kind string) sink{
	".jsonl": func(w io.WriteSeeker, _ int, _ string) sink { return newJSONLines(w) },
	".npy": func(w io.WriteSeeker, width int, kind string) sink {
		return &tensorFile{w: w, width: width, numbers: numbers[kind], header: npyHeader}
	},
	".safetensors": func(w io.WriteSeeker, width int, kind string) sink {
		return &tensorFile{w: w, width: width, numbers: numbers[kind], header: safetensorsHeader}
	},
}

// fitsFile tells whether numbers of a type can be written to a file with an ending: JSON has one type, and
// .npy no place for scales.
func fitsFile(kind, ending string) bool {
	n, ok := numbers[kind]
	return kind == "f32" || ok && (ending == ".safetensors" || ending == ".npy" && !n.scaled)
}

// write writes the embeddings to a file, or to out if name is empty. A file appears when it
// is complete.
func (s *stream) write(ctx context.Context, name string, out, report io.Writer) error {
	if name == "" {
		return s.fill(ctx, newJSONLines(out))
	}
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // fails if all went well
	err = s.fill(ctx, formats[filepath.Ext(name)](f, s.embedder.Width(), s.kind))
	if closed := errors.Join(f.Chmod(0o644), f.Close()); closed != nil {
		return errors.Join(err, closed)
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	if renamed := os.Rename(f.Name(), name); renamed != nil {
		return errors.Join(err, renamed)
	}
	fmt.Fprintf(report, "wrote %s: %d vectors of %d numbers\n", name, s.texts, s.embedder.Width())
	return err
}

// fill writes all embeddings to a sink. After an interrupt the sink is complete, too.
func (s *stream) fill(ctx context.Context, to sink) error {
	err := s.each(ctx, to.put)
	return errors.Join(err, to.close())
}

// jsonLines writes a JSON object a line.
type jsonLines struct {
	w *bufio.Writer
	e *json.Encoder
}

func newJSONLines(w io.Writer) *jsonLines {
	j := &jsonLines{w: bufio.NewWriter(w)}
	j.e = json.NewEncoder(j.w)
	j.e.SetEscapeHTML(false)
	return j
}

// put also flushes, so that a reader of a pipe need not wait.
func (j *jsonLines) put(lines []line, vectors [][]float32) error {
	type record struct {
		File      string    `json:"file,omitempty"`
		Line      int       `json:"line"`
		LastLine  int       `json:"last_line,omitempty"`
		Text      string    `json:"text"`
		Tokens    int       `json:"tokens"`
		Cut       bool      `json:"cut,omitempty"`
		Embedding []float32 `json:"embedding"`
	}
	for i, l := range lines {
		last := l.last
		if last == l.number {
			last = 0
		}
		if err := j.e.Encode(record{l.file, l.number, last, l.text, l.tokens, l.cut, vectors[i]}); err != nil {
			return err
		}
	}
	return j.w.Flush()
}

func (j *jsonLines) close() error { return nil }
