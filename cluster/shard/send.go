package shard

import (
	"context"
	"fmt"
	"time"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/shard/internal/wire"
	"github.com/attn-go/attn/kernel"
)

// Limits of what a worker waits for when it sends rows to another one.
const (
	sendPatience = 500 * time.Millisecond
	sendTime     = 10 * time.Second
)

// send sends rows that the worker holds to another one.
func (w *Worker) send(data []byte) ([]byte, error) {
	m, err := wire.ParseSend(data)
	if err != nil {
		return nil, err
	}
	if m.To != "" && !hub.IsToken(m.To) {
		return nil, fmt.Errorf("shard: %q is no name of a worker", m.To)
	}
	k, v, ok := w.store.Get(&m.Geometry, m.Sequence, m.Epoch, m.Block, m.Rows)
	if !ok {
		return nil, errMissing
	}
	most := (answerLimit(w.conn) - wire.PutOverhead - wire.KeysOverhead) / m.Geometry.RowBytes()
	if most < 1 {
		return nil, errLarge
	}
	ctx, cancel := context.WithTimeout(w.ctx, sendTime)
	defer cancel()
	for lo := m.Lo; lo < m.Hi; lo += most {
		if err := w.sendRows(ctx, m, k, v, lo, min(lo+most, m.Hi)); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// sendRows sends rows lo to hi-1 in one message.
func (w *Worker) sendRows(ctx context.Context, m *wire.Send, k, v kernel.Tensor, lo, hi int) error {
	rows := wire.AppendPair(make([]byte, 0, (hi-lo)*m.Geometry.RowBytes()), k, v, 0, lo, hi)
	put := wire.Put{Geometry: m.Geometry, Items: []wire.Keys{{Sequence: m.Sequence, Block: m.Block, Epoch: m.Epoch, Offset: lo, Count: hi - lo, Rows: rows}}}
	to := &messenger{w.conn, sendPatience}
	statuses, err := to.put(ctx, m.To, &put)
	if err != nil {
		return err
	}
	return statusError(m.To, statuses[0])
}
