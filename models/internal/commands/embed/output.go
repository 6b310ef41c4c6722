package embed

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
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

// fitsFile tells whether numbers of a type can be written to a file with an ending: JSON has one
// type, and .npy no place for scales.
func fitsFile(kind, ending string) bool {
	n, ok := numbers[kind]
	return kind == "f32" || ok && (ending == ".safetensors" || ending == ".npy" && !n.scaled)
}

// write writes the embeddings to a file, or to out if name is empty.
func (s *stream) write(ctx context.Context, name string, out, report io.Writer) error {
	if name == "" {
		return s.fill(ctx, newJSONLines(out))
	}
	return s.toFile(name, report, fmt.Sprintf("vectors of %d numbers", s.embedder.Width()), func(f *os.File) error {
		return s.fill(ctx, formats[filepath.Ext(name)](f, s.embedder.Width(), s.kind))
	})
}

// writeRecords writes something else than vectors of texts to a file of JSON lines, or to out if
// name is empty: what compute makes of lines.
func (s *stream) writeRecords(ctx context.Context, name, what string, compute func(ctx context.Context, texts []string) (func(h header, i int) any, error), out, report io.Writer) error {
	fill := func(w io.Writer) error {
		to := newJSONLines(w)
		return s.chunks(ctx, func(lines []line) error {
			begin := time.Now()
			texts := make([]string, len(lines))
			for i := range lines {
				if err := s.lengths.add(&lines[i]); err != nil {
					return err
				}
				texts[i] = lines[i].text
			}
			of, err := compute(ctx, texts)
			if err != nil {
				return err
			}
			s.texts += len(lines)
			s.took += time.Since(begin)
			return to.records(lines, of)
		})
	}
	if name == "" {
		return fill(out)
	}
	return s.toFile(name, report, what, func(f *os.File) error { return fill(f) })
}

// sparse computes the weights of tokens.
func (s *stream) sparse(ctx context.Context, texts []string) (func(h header, i int) any, error) {
	type sparse struct {
		Indices []int32   `json:"indices"`
		Values  []float32 `json:"values"`
	}
	weights, err := s.embedder.Sparse(ctx, texts)
	return func(h header, i int) any {
		x := sparse{[]int32{}, []float32{}} // and not null
		if w := weights[i]; len(w.Tokens) > 0 {
			x = sparse{w.Tokens, w.Weights}
		}
		return struct {
			header
			Sparse sparse `json:"sparse"`
		}{h, x}
	}, err
}

// tokens computes the vectors of tokens of texts as documents, or as queries.
func (s *stream) tokens(ctx context.Context, texts []string, queries bool) (func(h header, i int) any, error) {
	e := s.embedder
	of, vectorsOf := e.DocumentTokens, e.DocumentVectors
	if queries {
		of, vectorsOf = e.QueryTokens, e.QueryVectors
	}
	var ids [][]int32
	for _, text := range texts {
		ids = append(ids, of(text))
	}
	all, err := vectorsOf(ctx, ids)
	return func(h header, i int) any {
		return struct {
			header
			IDs     []int32     `json:"token_ids"`
			Vectors [][]float32 `json:"token_embeddings"`
		}{h, append([]int32{}, all[i].Tokens...), append([][]float32{}, all[i].Vectors...)}
	}, err
}

// toFile writes a file that appears when it is complete, and reports how many of what it has.
func (s *stream) toFile(name string, report io.Writer, what string, fill func(f *os.File) error) error {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-")
	if bad := (*fs.PathError)(nil); errors.As(err, &bad) {
		bad.Path = name
	}
	if err != nil {
		return fmt.Errorf("-o: %w", err)
	}
	defer os.Remove(f.Name()) // fails if all went well
	err = fill(f)
	if closed := errors.Join(f.Chmod(0o644), f.Close()); closed != nil {
		return errors.Join(err, closed)
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	if renamed := os.Rename(f.Name(), name); renamed != nil {
		return errors.Join(err, renamed)
	}
	fmt.Fprintf(report, "wrote %s: %d %s\n", name, s.texts, what)
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

// A header is what a JSON line says of a text.
type header struct {
	File     string `json:"file,omitempty"`
	Line     int    `json:"line"`
	LastLine int    `json:"last_line,omitempty"`
	Text     string `json:"text"`
	Tokens   int    `json:"tokens"`
	Cut      bool   `json:"cut,omitempty"`
}

func newHeader(l *line) header {
	last := l.last
	if last == l.number {
		last = 0
	}
	return header{l.file, l.number, last, l.text, l.tokens, l.cut}
}

// put also flushes, so that a reader of a pipe need not wait.
func (j *jsonLines) put(lines []line, vectors [][]float32) error {
	return j.records(lines, func(h header, i int) any {
		return struct {
			header
			Embedding []float32 `json:"embedding"`
		}{h, vectors[i]}
	})
}

// records writes a line for each text: of(header, number).
func (j *jsonLines) records(lines []line, of func(h header, i int) any) error {
	for i := range lines {
		if err := j.e.Encode(of(newHeader(&lines[i]), i)); err != nil {
			return err
		}
	}
	return j.w.Flush()
}

func (j *jsonLines) close() error { return nil }
