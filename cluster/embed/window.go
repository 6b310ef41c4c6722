package embed

import (
	"math"
	"time"

	"github.com/attn-go/attn/cluster/embed/internal/journal"
	"github.com/attn-go/attn/cluster/embed/internal/wire"
)

// A batch is consecutive records of the input, of which the usable ones make a job.
type batch struct {
	first   int64           // position of the first one
	entries []journal.Entry // without vectors
	texts   []string        // of the entries without a Reason
	bytes   int64           // that the records took of the input
}

// A unit is a batch whose vectors are awaited.
type unit struct {
	batch
	missing int // parts without a result
	parts   []*part
}

// A part is a job: all texts of a unit, or one of them after all of them failed.
type part struct {
	unit    *unit
	entries []int // indices in unit.entries
	place   place
	data    []byte // the message
	hash    wire.Hash
	done    bool

	sending bool      // a publisher has it
	sent    time.Time // when it was last stored, or seen to be there
}

// A window holds the units under way, in the order of the input.
type window struct {
	run   string
	model wire.Hash
	width int
	units []*unit
	parts map[string]*part // by place

	split, doubled int // jobs that were split, results that came twice
	misfits        int // messages that are no results of their jobs
}

// add appends a batch and returns the job to send, nil if no text is usable.
func (w *window) add(b batch) *part {
	u := &unit{batch: b}
	w.units = append(w.units, u)
	var usable []int
	for i, e := range b.entries {
		if e.Reason == "" {
			usable = append(usable, i)
		}
	}
	texts := u.texts
	u.texts = nil // the message has them
	if len(texts) == 0 {
		return nil
	}
	return w.part(u, usable, texts)
}

// part makes a job of some entries of a unit.
func (w *window) part(u *unit, entries []int, texts []string) *part {
	p := &part{unit: u, entries: entries, place: place{w.run, u.first + int64(entries[0]), len(texts)}}
	job := wire.Job{Model: w.model, Texts: texts}
	p.data, p.hash = job.Encode()
	w.parts[p.place.String()] = p
	u.parts = append(u.parts, p)
	u.missing++
	return p
}

// accept takes a message with a result and returns jobs to send.
func (w *window) accept(at string, data []byte) (send []*part, err error) {
	p := w.parts[at]
	if p == nil { // its unit is in the journal
		w.doubled++
		return nil, nil
	}
	r, err := wire.DecodeResult(data)
	if err != nil || !w.fits(p, r) {
		// Nobody computed this for the job. If it took the place of the right result, that
		// one is lost.
		w.misfits++
		if !p.done {
			send = []*part{p}
		}
		return send, nil
	}
	if r.Status == wire.Refused {
		return nil, recordError(p.place.first, r.Reason, "jobs that workers do", ErrRefused)
	}
	if p.done {
		w.doubled++
		return nil, p.compare(r)
	}
	if r.Status == wire.Failed && len(p.entries) > 1 {
		return w.splitUp(p)
	}
	p.done = true
	p.unit.missing--
	for i, e := range p.entries {
		if r.Status == wire.Failed {
			p.unit.entries[e].Reason = r.Reason
		} else {
			p.unit.entries[e].Vector = r.Values[i]
		}
	}
	return nil, nil
}

// fits tells whether a result answers a job.
func (w *window) fits(p *part, r *wire.Result) bool {
	if r.Job != p.hash || r.Model != w.model {
		return false
	}
	return r.Status != wire.Done || r.Width == w.width && len(r.Values) == len(p.entries)
}

// compare expects the bits of a second result of a job.
func (p *part) compare(r *wire.Result) error {
	for i, v := range r.Values {
		old := p.unit.entries[p.entries[i]].Vector
		for k, x := range old {
			if math.Float32bits(x) != math.Float32bits(v[k]) {
				return recordError(p.unit.first+int64(p.entries[i]), "vectors of different bits from two workers", "the same from all", ErrDifference)
			}
		}
	}
	return nil
}

// splitUp replaces a job by one for each text.
func (w *window) splitUp(p *part) (send []*part, err error) {
	job, _, err := wire.DecodeJob(p.data)
	if err != nil {
		return nil, err
	}
	delete(w.parts, p.place.String())
	p.done = true
	p.unit.missing--
	w.split++
	for i, e := range p.entries {
		send = append(send, w.part(p.unit, []int{e}, job.Texts[i:i+1]))
	}
	return send, nil
}

// take removes and returns the first unit if all its results are there, otherwise nil.
func (w *window) take() *unit {
	if len(w.units) == 0 || w.units[0].missing > 0 {
		return nil
	}
	u := w.units[0]
	w.units[0] = nil
	w.units = w.units[1:]
	for _, p := range u.parts {
		delete(w.parts, p.place.String())
	}
	return u
}

// late returns the jobs that were stored before a time and have no result.
func (w *window) late(before time.Time) (send []*part) {
	for _, p := range w.parts {
		if !p.done && !p.sending && p.sent.Before(before) {
			send = append(send, p)
		}
	}
	return send
}

// outstanding returns the number of jobs without a result.
func (w *window) outstanding() (n int) {
	for _, u := range w.units {
		n += u.missing
	}
	return n
}
