package main

import (
	"crypto/ed25519"
	"os"
	"path/filepath"
	"strings"

	"github.com/attn-go/attn/models"
	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/receipt"
)

// receipts is the file of -receipt; nil stands for none.
type receipts struct {
	out   *os.File
	of    receipt.Model
	model *decoder.Model
	key   ed25519.PrivateKey // nil signs nothing
}

// openReceipts makes the file of -receipt.
func (c *config) openReceipts(m *decoder.Model) (*receipts, error) {
	if c.receipt == "" {
		return nil, nil
	}
	w := &receipts{model: m}
	if c.signer != "" {
		data, err := os.ReadFile(c.signer)
		if err != nil {
			return nil, err
		}
		if w.key, err = receipt.PrivateKey(data); err != nil {
			return nil, err
		}
	}
	d, err := models.Look(c.model)
	if err != nil {
		return nil, err
	}
	w.of = receipt.Model{Name: c.model, Architecture: d.Architecture}
	if strings.ContainsAny(c.model, `/\:`) {
		w.of.Name = filepath.Base(d.Path)
	}
	if w.of.Files, err = receipt.Files(d.Path, false); err != nil {
		return nil, err
	}
	w.out, err = os.Create(c.receipt)
	return w, err
}

// records are the recorders of answers that are made side by side.
type records []*receipt.Recorder

// begin records the answers to prompts, and lets o report their logits.
func (w *receipts) begin(prompts [][]int32, o *decoder.GenerateOptions) (all records, err error) {
	if w == nil {
		return nil, nil
	}
	for i, prompt := range prompts {
		mine := *o
		mine.Sampler.Seed += uint64(i)
		r, err := receipt.Record(w.of, w.model, prompt, &mine)
		if err != nil {
			return nil, err
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
		r := one.Receipt()
		if r == nil {
			continue
		}
		if w.key != nil {
			if err := r.Sign(w.key); err != nil {
				return err
			}
		}
		data, err := r.Bytes()
		if err != nil {
			return err
		}
		if _, err := w.out.Write(data); err != nil {
			return err
		}
	}
	return nil
}

// close closes the file.
func (w *receipts) close() error {
	if w == nil {
		return nil
	}
	return w.out.Close()
}
