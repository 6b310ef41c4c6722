package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/attn-go/attn/models/bert"
)

// chunkLines is how many lines are embedded together. After an interrupt those of the current
// chunk are lost.
const chunkLines = 128

// A stream embeds the lines of an input chunk by chunk.
type stream struct {
	encoder   *bert.Encoder
	in        *input
	skipBlank bool
	bar       *progress
	lengths   lengthCheck

	texts int
	took  time.Duration // for the embeddings alone
}

// each calls f with every chunk of lines and their embeddings.
func (s *stream) each(ctx context.Context, f func(lines []line, vectors [][]float32) error) error {
	defer s.bar.close()
	for {
		lines, inputErr := s.in.next(ctx, chunkLines)
		wanted := s.wanted(lines)
		vectors, err := s.embed(ctx, wanted)
		if err == nil {
			err = f(wanted, vectors)
		}
		if err = errors.Join(err, inputErr); err != nil || len(lines) == 0 {
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

func (s *stream) embed(ctx context.Context, lines []line) ([][]float32, error) {
	texts := make([]string, len(lines))
	for i, l := range lines {
		if err := s.lengths.add(&lines[i]); err != nil {
			return nil, err
		}
		texts[i] = l.text
	}
	begin := time.Now()
	vectors, err := s.encoder.Embed(ctx, texts)
	if err == nil {
		s.texts += len(texts)
		s.took += time.Since(begin)
	}
	return vectors, err
}

// summary reports which texts were cut, how much was done and how fast.
func (s *stream) summary(report io.Writer) {
	s.lengths.report(report)
	if s.texts > 0 {
		fmt.Fprintf(report, "%d texts in %.3g s, %.1f texts/s\n", s.texts, s.took.Seconds(), float64(s.texts)/s.took.Seconds())
	}
}
