package vectors

import (
	"encoding/json"
	"io"
)

// jsonLines writes an object a row.
type jsonLines struct{ e *json.Encoder }

func newJSONLines(w io.Writer, _ int, _ int64) (sink, error) { return &jsonLines{encoder(w)}, nil }

func (j *jsonLines) put(position int64, r Row) error {
	return j.e.Encode(struct {
		Position  int64           `json:"position"`
		ID        json.RawMessage `json:"id,omitempty"`
		Source    string          `json:"source"`
		Embedding []float32       `json:"embedding"` // null without one
	}{position, json.RawMessage(r.ID), r.Source, r.Vector})
}

func (j *jsonLines) close() error { return nil }

// rejected writes an object for each row without a vector.
type rejected struct{ e *json.Encoder }

func (d *rejected) put(position int64, r Row) error {
	if r.Reason == "" {
		return nil
	}
	return d.e.Encode(struct {
		Position int64           `json:"position"`
		ID       json.RawMessage `json:"id,omitempty"`
		Source   string          `json:"source"`
		Reason   string          `json:"reason"`
	}{position, json.RawMessage(r.ID), r.Source, r.Reason})
}

func (d *rejected) close() error { return nil }
