package chat

import (
	"errors"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models"
	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/receipt"
)

// receipts is the file of -receipt; nil stands for none.
type receipts struct {
	*receipt.Writer
	model *decoder.Model
}

// openReceipts makes the file of -receipt.
func (c *config) openReceipts(m *decoder.Model) (*receipts, error) {
	if c.receipt.File == "" {
		return nil, nil
	}
	d, err := models.Describe(c.model)
	if err != nil {
		return nil, err
	}
	w, err := receipt.Create(c.receipt.File, c.receipt.Key, c.model, d.Path, d.Architecture, c.options.LoRA...)
	if err != nil {
		return nil, err
	}
	return &receipts{w, m}, nil
}

// records are the recorders of answers that are made side by side.
type records []*receipt.Recorder

// begin records the answers to prompts, and lets o report their logits. talks are the conversations
// that the prompts are written from, nil for prompts of other origin.
func (w *receipts) begin(prompts [][]int32, talks []*chattemplate.Conversation, o *decoder.GenerateOptions) (all records, err error) {
	if w == nil {
		return nil, nil
	}
	for i, prompt := range prompts {
		mine := *o
		mine.Sampler.Seed += uint64(i)
		r, err := receipt.Record(w.Model(), w.model, prompt, &mine)
		if err != nil {
			return nil, err
		}
		if talks[i] != nil {
			if err := r.Conversation(talks[i]); err != nil && !errors.As(err, new(*kernel.Error)) {
				return nil, err // a receipt of what is not UTF-8 has the tokens alone
			}
		}
		all = append(all, r)
	}
	o.Logits = func(text int, logits []float32) { all[text].Logits(logits) }
	return all, nil
}

// add adds a token to its text.
func (all records) add(t decoder.Token) {
	if all != nil {
		all[t.Index].Add(t)
	}
}

// write writes the receipts of all texts that have a token.
func (w *receipts) write(all records) error {
	for _, one := range all {
		if r := one.Receipt(); r != nil {
			if err := w.Write(r); err != nil {
				return err
			}
		}
	}
	return nil
}

// close closes the file.
func (w *receipts) close() error {
	if w == nil {
		return nil
	}
	return w.Close()
}
