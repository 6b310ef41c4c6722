package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// writeStream writes an event for each token that adds something, those of several texts in turn. The
// status is written with the first one, so that an error before it has its own.
func (g *generation) writeStream(ctx context.Context) error {
	w := &eventWriter{g: g}
	ended := make([]bool, len(g.answers))
	offsets := make([]int, len(g.answers))
	for left := len(ended); left > 0; {
		for i := range g.answers {
			if ended[i] {
				continue
			}
			c, err := g.next(ctx, i)
			if err != nil {
				return w.fail(err)
			}
			if !w.begun[i] {
				w.event(g.form.begin(), i)
				if g.echo != nil {
					offsets[i] = w.echo(i)
				}
			}
			c.offset = offsets[i]
			offsets[i] += utf8.RuneCountInString(c.text)
			g.addLogprobs(&c)
			if c.text != "" || c.logprobs != nil && len(c.tokens) > 0 {
				w.event(g.form.delta(&c), i)
			}
			if c.reason != "" {
				ended[i] = true
				left--
				w.event(g.form.end(c.reason), i)
			}
			if err := w.flush(); err != nil {
				return nil // the client is gone
			}
		}
	}
	if err := w.last(); err != nil {
		return w.fail(err)
	}
	return w.done()
}

// An eventWriter writes the events of a stream.
type eventWriter struct {
	g     *generation
	begun map[int]bool
	buf   bytes.Buffer
	err   error
}

// event adds an event for a choice.
func (w *eventWriter) event(choice any, index int) {
	if w.begun == nil {
		w.begun = map[int]bool{}
	}
	w.begun[index] = true
	if choice == nil {
		return
	}
	body := w.g.body(true)
	body.Choices = append(body.Choices, withIndex{index, choice})
	switch {
	case w.g.each:
		body.Usage = w.g.usageNow()
	case w.g.usage:
		body.Usage = json.RawMessage("null")
	}
	w.add(body)
}

// echo adds the event of a prompt, and returns how many characters it has.
func (w *eventWriter) echo(index int) int {
	c := w.g.echoed(index)
	w.g.addLogprobs(&c)
	w.event(w.g.form.delta(&c), index)
	return utf8.RuneCountInString(c.text)
}

// last adds the event of the usage and of the receipts, which has no choice, if either is wanted.
func (w *eventWriter) last() (err error) {
	if !w.g.usage && len(w.g.records) == 0 {
		return nil
	}
	body := w.g.body(true)
	if w.g.usage {
		body.Usage = w.g.usageNow()
	}
	body.Receipts, err = w.g.receipts()
	w.add(body)
	return err
}

func (w *eventWriter) add(body any) {
	data, err := json.Marshal(body)
	if err != nil {
		w.err = err
		return
	}
	w.buf.WriteString("data: ")
	w.buf.Write(data)
	w.buf.WriteString("\n\n")
}

// flush sends what was added.
func (w *eventWriter) flush() error {
	if w.err != nil {
		return w.err
	}
	if w.buf.Len() == 0 {
		return nil
	}
	if w.g.w.status == 0 {
		w.g.w.Header().Set("Content-Type", eventStream)
		w.g.w.Header().Set("Cache-Control", "no-cache")
		w.g.w.Header().Set("X-Accel-Buffering", "no") // of proxies that would wait for more
	}
	w.g.deadline()
	_, err := w.g.w.Write(w.buf.Bytes())
	w.buf.Reset()
	if err == nil {
		if err = w.g.control.Flush(); errors.Is(err, errors.ErrUnsupported) {
			err = nil
		}
	}
	return err
}

// fail ends a stream with an error, as an event if it has begun.
func (w *eventWriter) fail(err error) error {
	if w.g.w.status == 0 {
		return err
	}
	w.buf.Write(errorEvent(err))
	_ = w.flush() // it ends anyway
	return err
}

// eventStream is the type of a stream.
const eventStream = "text/event-stream"

// errorEvent is the event of an error.
func errorEvent(err error) []byte { return fmt.Appendf(nil, "data: %s\n\n", failureOf(err).body()) }

// done ends a stream.
func (w *eventWriter) done() error {
	w.buf.WriteString("data: [DONE]\n\n")
	_ = w.flush() // a client that is gone needs no error
	return nil
}

// withIndex adds the index of a choice to its JSON.
type withIndex struct {
	index  int
	choice any
}

// MarshalJSON writes the fields of the choice after its index.
func (c withIndex) MarshalJSON() ([]byte, error) {
	data, err := json.Marshal(c.choice)
	if err != nil {
		return nil, err
	}
	index, _ := json.Marshal(c.index) // numbers have no error
	return append(append(append([]byte(`{"index":`), index...), ','), data[1:]...), nil
}
