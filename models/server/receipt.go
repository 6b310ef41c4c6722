package server

import (
	"crypto/ed25519"
	"fmt"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/receipt"
	"github.com/attn-go/attn/models/reranking"
)

// wantReceipt reports why a request cannot have the receipts that it asks for.
func (h *host) wantReceipt(want bool) error {
	if want && h.files == nil {
		return badParam("receipt", "receipt: got true, but the files of %q are not known", h.name)
	}
	return nil
}

// named returns the model as receipts name it.
func (h *host) named() receipt.Model {
	return receipt.Model{Name: h.name, Architecture: h.architecture, Files: h.files}
}

// sign signs receipts, if there is a key.
func (x *exchange) sign(all ...*receipt.Receipt) error {
	if x.s.ReceiptKey == nil {
		return nil
	}
	for _, r := range all {
		if err := r.Sign(x.s.ReceiptKey); err != nil {
			return err
		}
	}
	return nil
}

// receiptOfVectors returns the receipt of an answer of embeddings, or nil if none is wanted.
func (x *exchange) receiptOfVectors(h *host, q *embeddingsRequest, dimensions int, vectors [][]float32) (*receipt.Receipt, error) {
	if !q.Receipt {
		return nil, nil
	}
	o := h.embed.Options()
	o.Dimensions = dimensions
	r, err := receipt.RecordEmbeddings(h.named(), h.load, h.embed.With(o), q.Input.Texts, vectors)
	if err != nil {
		return nil, badParam("receipt", "%v", err)
	}
	return r, x.sign(r)
}

// receiptOfScores returns the receipt of an answer of ranks, or nil if none is wanted.
func (x *exchange) receiptOfScores(h *host, k *reranking.Reranker, q *rerankRequest, texts []string, scores []float32) (*receipt.Receipt, error) {
	if !q.Receipt {
		return nil, nil
	}
	r, err := receipt.RecordRanking(x.ctx, h.named(), h.load, k, q.Query, texts, scores)
	if err != nil {
		return nil, badParam("receipt", "%v", err)
	}
	return r, x.sign(r)
}

// checkReceiptKey reports a key of another kind.
func (s *Settings) checkReceiptKey() error {
	if n := len(s.ReceiptKey); s.ReceiptKey != nil && n != ed25519.PrivateKeySize {
		return &kernel.Error{Where: "server: Settings.ReceiptKey", Got: fmt.Sprintf("%d bytes", n), Want: fmt.Sprint(ed25519.PrivateKeySize)}
	}
	return nil
}
