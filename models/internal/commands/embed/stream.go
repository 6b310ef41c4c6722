package embed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/receipt"
)

// chunkLines is how many lines are embedded together. An interrupt loses the current chunk.
const chunkLines = 128

// A stream embeds the lines of an input chunk by chunk.
type stream struct {
	embedder  *embedding.Embedder
	in        *input
	skipBlank bool
	bar       *progress
	lengths   lengthCheck
	store     store
	kind      string // of the numbers that are written
	load      embedding.LoadOptions
	receipts  *receipt.Writer // nil without -receipt

	texts int
	took  time.Duration // for the embeddings alone
}

// each calls f with every chunk of lines and their embeddings.
func (s *stream) each(ctx context.Context, f func(lines []line, vectors [][]float32) error) error {
	return s.chunks(ctx, func(lines []line) error {
		vectors, err := s.embed(ctx, lines)
		if err != nil {
			return err
		}
		return errors.Join(f(lines, vectors), s.record(lines, vectors))
	})
}

// chunks calls do with every chunk of lines that are wanted.
func (s *stream) chunks(ctx context.Context, do func(lines []line) error) (err error) {
	defer s.bar.close()
	defer func() { s.store.close(err == nil) }()
	for {
		lines, inputErr := s.in.next(ctx, chunkLines)
		err := errors.Join(do(s.wanted(lines)), inputErr)
		if err != nil || len(lines) == 0 {
			return err
		}
		for _, l := range lines {
			s.bar.add(l.bytes)
		}
	}
}

// wanted returns the lines that are embedded.
func (s *stream) wanted(lines []line) []line {
	if !s.skipBlank {
		return lines
	}
	var wanted []line
	for _, l := range lines {
		if strings.TrimSpace(l.text) != "" {
			wanted = append(wanted, l)
		}
	}
	return wanted
}

// record writes the receipt of lines.
func (s *stream) record(lines []line, vectors [][]float32) error {
	if s.receipts == nil || len(lines) == 0 {
		return nil
	}
	texts := make([]string, len(lines))
	for i, l := range lines {
		texts[i] = l.text
	}
	r, err := receipt.RecordEmbeddings(s.receipts.Model(), s.load, s.embedder, texts, vectors)
	if err != nil {
		return err
	}
	return s.receipts.Write(r)
}

// embed returns the vectors of lines. Those that are known are not computed again, and of equal
// texts only one is.
func (s *stream) embed(ctx context.Context, lines []line) ([][]float32, error) {
	begin := time.Now()
	vectors := make([][]float32, len(lines))
	var texts []string
	place := map[string]int{} // of a text in texts
	for i := range lines {
		l := &lines[i]
		if err := s.lengths.add(l); err != nil {
			return nil, err
		}
		if vectors[i] = s.store.get(l); vectors[i] != nil {
			continue
		}
		if _, ok := place[l.text]; ok {
			s.store.repeated++
		} else {
			place[l.text] = len(texts)
			texts = append(texts, l.text)
		}
	}
	computed, err := s.embedder.Embed(ctx, texts)
	if err != nil {
		return nil, err
	}
	for i := range lines {
		if vectors[i] == nil {
			vectors[i] = computed[place[lines[i].text]]
			s.store.put(&lines[i], vectors[i])
		}
	}
	if len(lines) > 0 {
		s.store.saveAll(lines[len(lines)-1].file)
	}
	s.texts += len(lines)
	s.took += time.Since(begin)
	return vectors, nil
}

// summary reports what was left out or cut, how much was done and how fast.
func (s *stream) summary(report io.Writer) {
	s.in.report(report)
	s.lengths.report(report)
	if s.texts == 0 {
		return
	}
	unit := "texts"
	if s.texts == 1 {
		unit = "text"
	}
	fmt.Fprintf(report, "%d %s in %.3g s, %.1f texts/s", s.texts, unit, s.took.Seconds(), float64(s.texts)/s.took.Seconds())
	if known := s.store.reused + s.store.repeated; known > 0 || s.store.folder != "" {
		fmt.Fprintf(report, "; %d computed, %d from the cache, %d repeated", s.texts-known, s.store.reused, s.store.repeated)
	}
	fmt.Fprintln(report)
}
