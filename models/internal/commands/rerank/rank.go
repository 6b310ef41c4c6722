package rerank

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models"
	"github.com/attn-go/attn/models/receipt"
	"github.com/attn-go/attn/models/reranking"
)

// score sets the scores of all passages, which it computes in one call.
func (c *config) score(ctx context.Context, r *reranking.Reranker, all []result, report io.Writer) error {
	texts := make([]string, len(all))
	for i := range all {
		texts[i] = all[i].Text
	}
	if err := c.measure(r, all, report); err != nil {
		return err
	}
	scores, err := r.Score(ctx, c.Query, texts)
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("nothing is ranked: %w", context.Cause(ctx))
	}
	if bad := (*kernel.Error)(nil); errors.As(err, &bad) && bad.Where == "query" {
		return fmt.Errorf("-query: got %s, want %s", bad.Got, bad.Want)
	}
	for i := range scores {
		all[i].Score = scores[i]
	}
	return err
}

// record writes the receipts of all scores to the file of -receipt, some passages in each.
func (c *config) record(ctx context.Context, r *reranking.Reranker, all []result) (err error) {
	if c.Receipt.File == "" {
		return nil
	}
	d, err := models.Describe(c.Model)
	if err != nil {
		return err
	}
	w, err := receipt.Create(c.Receipt.File, c.Receipt.Key, c.Model, d.Path, d.Architecture, c.Load.LoRA...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	for part := range slices.Chunk(all, receiptPassages) {
		texts, scores := make([]string, len(part)), make([]float32, len(part))
		for i, p := range part {
			texts[i], scores[i] = p.Text, p.Score
		}
		one, err := receipt.RecordRanking(ctx, w.Model(), c.Load, r, c.Query, texts, scores)
		if err != nil {
			return err
		}
		if err := w.Write(one); err != nil {
			return err
		}
	}
	return nil
}

// receiptPassages is the most passages of a receipt: they have fewer tokens than
// receipt.MostTokens.
const receiptPassages = 128

// measure counts the tokens of all passages, and warns of those that the model does not see whole
// or refuses them.
func (c *config) measure(r *reranking.Reranker, all []result, report io.Writer) error {
	var cut []string
	for i := range all {
		p := &all[i]
		p.Tokens = r.CountTokens(c.Query, p.Text)
		p.Cut = p.Tokens > r.MaxTokens()
		where := fmt.Sprintf("%s:%d", p.source, p.Line)
		switch {
		case p.Cut && c.Long == "error":
			return fmt.Errorf("%s and the query have %d tokens, and the model sees %d; -long cut leaves out tokens at the end of the longer one", where, p.Tokens, r.MaxTokens())
		case p.Cut:
			cut = append(cut, where)
		}
	}
	if len(cut) > 0 {
		fmt.Fprintf(report, "warning: with the query, %d of %d passages have more than the %d tokens that the model sees; the first of them is %s\n", len(cut), len(all), r.MaxTokens(), cut[0])
	}
	return nil
}

// best returns the top results, best first.
func best(all []result, top int) []result {
	slices.SortStableFunc(all, func(a, b result) int { return cmp.Compare(b.Score, a.Score) })
	return all[:min(top, len(all))]
}

// write writes results as JSON lines.
func write(out io.Writer, all []result) error {
	w := bufio.NewWriter(out)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for _, r := range all {
		if err := e.Encode(r); err != nil {
			return err
		}
	}
	return w.Flush()
}
