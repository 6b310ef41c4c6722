// Package request has what clients ask of models and what comes of it, whatever API they speak. It
// knows nothing of HTTP, and of JSON no more than the names of [Facts]: package dialect translates,
// and package server lets a model do the work.
package request

import (
	"context"
	"time"

	"github.com/attn-go/attn/models/receipt"
)

// A Request asks for one piece of work. A dialect sets what its client says, and the server the
// rest.
type Request struct {
	Ctx context.Context // ends the work
	Key string          // whose it is: keys share a model fairly

	// Model is the name of the model. "" is the only one, or with Unnamed, which is for APIs that
	// name no models, of several the only one that does such work.
	Model   string
	Unnamed bool
	Tagged  bool // Model may have :latest at its end, as Ollama's names do

	Size    int  // bytes that it came in, of which its texts take many times the memory
	Stream  bool // events as they come, in place of all at once
	Receipt bool // is wanted
	Work    Work

	// Of the answer.
	ID          string // without the beginning that a dialect gives it
	Created     time.Time
	Fingerprint string // of the model
	Receipts    []*receipt.Receipt
	Prompt      int           // tokens that were read
	Made        int           // tokens of answers
	Thought     int           // of which so many are thinking
	First       time.Duration // from when the model could begin to the first of them

	choices []*Choice
	turn    int      // the choice that is next
	held    *Event   // comes before the next one
	parts   []*Event // that were collected
	ends    []func()
}

// OnClose lets Close call f.
func (r *Request) OnClose(f func()) { r.ends = append(r.ends, f) }

// Close ends the request and gives back what it holds.
func (r *Request) Close() {
	for _, f := range r.ends {
		f()
	}
	r.ends = nil
}
