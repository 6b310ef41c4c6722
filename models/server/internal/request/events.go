package request

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/attn-go/attn/models/answer"
	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/decoder"
)

// An Event is what a token adds to a choice, or what the prompt does, if that is written, too.
type Event struct {
	Choice int
	First  bool // of the choice
	Text   string
	Offset int // of Text in the whole text, in characters
	End    decoder.End
	Stop   string // the string that the text has ended at, or ""

	// Of the next message of a conversation: what the model thinks before its text, and calls of
	// tools. Called says that the choice has calls, this one's included.
	Reasoning string
	Thought   bool // its token belongs to thinking
	Calls     []CallPart
	Called    bool

	// Tokens are the tokens of Text with their logarithms, nil if these are not wanted. Bytes
	// returns the bytes of a token, which may be a part of a character.
	Tokens []decoder.Token
	Bytes  func(id int32) []byte

	// Prompt says that the event begins with the prompt: nothing precedes its first token, and
	// Outside of the first tokens are not written in the text.
	Prompt  bool
	Outside int
}

// A CallPart is a call of a tool as a whole, or what one grows by, of which the first part alone
// has ID and Name.
type CallPart struct {
	Index     int // of the call among the choice's calls
	ID, Name  string
	Arguments string // JSON
}

// A Choice is an answer that grows while somebody reads it. The scheduler adds tokens and never
// waits for the reader; the number of tokens of an answer is limited.
type Choice struct {
	mu     sync.Mutex
	tokens []decoder.Token
	over   bool
	err    error
	wake   chan struct{}

	// The reader's own.
	index        int
	taken        int // tokens
	begun, ended bool
	offset       int            // characters that were read
	parser       *answer.Parser // nil for text that is an answer as it is
	calls        int
	open         bool            // the last call may grow
	sent         int             // bytes of its arguments
	ids          map[string]bool // of calls that there are
}

// Begin adds a choice to the answer.
func (r *Request) Begin() *Choice {
	c := &Choice{wake: make(chan struct{}, 1), index: len(r.choices)}
	if w, ok := r.Work.(*Generate); ok && w.Parser != nil {
		c.parser = w.Parser()
	}
	r.choices = append(r.choices, c)
	return c
}

func (c *Choice) notify() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Add adds a token.
func (c *Choice) Add(t decoder.Token) {
	c.mu.Lock()
	c.tokens = append(c.tokens, t)
	c.mu.Unlock()
	c.notify()
}

// Finish says that no more tokens come.
func (c *Choice) Finish(err error) {
	c.mu.Lock()
	c.over, c.err = true, err
	c.mu.Unlock()
	c.notify()
}

// errEnds says that a text has ended although no token says so.
var errEnds = errors.New("request: the text has ended without a reason")

// next returns the next token, and waits for it. After the last one, or if the text has ended by an
// error, that is the error.
func (c *Choice) next(ctx context.Context) (decoder.Token, error) {
	for {
		c.mu.Lock()
		if c.taken < len(c.tokens) {
			t := c.tokens[c.taken]
			c.taken++
			c.mu.Unlock()
			return t, nil
		}
		over, err := c.over, c.err
		c.mu.Unlock()
		if over {
			if err == nil {
				err = errEnds
			}
			return decoder.Token{}, err
		}
		select {
		case <-c.wake:
		case <-ctx.Done():
			return decoder.Token{}, ctx.Err()
		}
	}
}

// Next returns the next event, and waits for it; nil after the last one. Choices take turns, so
// that the order is always the same.
func (r *Request) Next(ctx context.Context) (*Event, error) {
	if e := r.held; e != nil {
		r.held = nil
		return e, nil
	}
	for range r.choices {
		c := r.choices[r.turn]
		r.turn = (r.turn + 1) % len(r.choices)
		if c.ended {
			continue
		}
		t, err := c.next(ctx)
		if err != nil {
			return nil, err
		}
		return r.event(c, t), nil
	}
	return nil, nil
}

// event returns the event of a token. The first token of a choice comes after all of the prompt has
// been read.
func (r *Request) event(c *Choice, t decoder.Token) *Event {
	w := r.Work.(*Generate)
	e := &Event{Choice: c.index, First: !c.begun, Text: t.Text, End: t.End, Stop: t.StopText, Bytes: w.Bytes}
	if w.Options.Logprobs {
		e.Tokens = []decoder.Token{}
	}
	if w.Quiet {
		e.Text, e.End = "", decoder.EndMaxTokens
	} else if r.Made++; w.Options.Logprobs && (t.End != decoder.EndToken || w.Echo) {
		// With the prompt's logarithms an answer also has the logarithm of the token that ends it:
		// a client that scores a text asks for one token more and ignores the last one.
		e.Tokens = append(e.Tokens, t)
	}
	c.begun, c.ended = true, e.End != decoder.EndNone
	if e.Thought = c.parser != nil && c.parser.Thinking(); e.Thought {
		r.Thought++
	}
	c.parse(w, e)
	e.Thought = e.Thought || c.parser != nil && c.parser.Thinking() // what begins it, too
	if !e.First || !w.Echo {
		return c.place(e)
	}
	before := w.Echoed[c.index/w.Choices]
	first := c.place(&Event{Choice: c.index, First: true, Text: before.Text, Tokens: slices.Clip(before.Tokens), Bytes: w.Bytes, Prompt: true, Outside: before.Outside})
	e.First = false
	r.held = c.place(e)
	return first
}

// parse takes the text of an event apart.
func (c *Choice) parse(w *Generate, e *Event) {
	if c.parser == nil {
		return
	}
	part := c.parser.Add(e.Text)
	e.Text, e.Reasoning = part.Text, part.Reasoning
	calls, open := part.Calls, part.Open
	if e.End != decoder.EndNone {
		rest := c.parser.End()
		e.Text, e.Reasoning, calls, open = e.Text+rest.Text, e.Reasoning+rest.Reasoning, append(calls, rest.Calls...), rest.Open
	} else if !w.Grow {
		open = nil
	}
	for i := range calls {
		c.call(w, e, &calls[i])
		c.open = false
	}
	if open != nil {
		c.call(w, e, open)
	}
	e.Called = c.calls > 0
}

// call adds to an event what a call has grown by, which may be open.
func (c *Choice) call(w *Generate, e *Event, call *chattemplate.ToolCall) {
	part := CallPart{Index: c.calls - 1}
	if !c.open {
		part = CallPart{Index: c.calls, ID: c.id(w, call), Name: call.Name}
		c.calls, c.open, c.sent = c.calls+1, true, 0
	}
	part.Arguments = string(call.Arguments[c.sent:])
	if c.sent = len(call.Arguments); part.Name != "" || part.Arguments != "" {
		e.Calls = append(e.Calls, part)
	}
}

// id returns the id of a call that begins: the model's, unless another one has it.
func (c *Choice) id(w *Generate, call *chattemplate.ToolCall) string {
	if c.ids == nil {
		c.ids = map[string]bool{}
		if w.Conversation != nil {
			for _, m := range w.Conversation.Messages {
				for _, call := range m.Calls {
					c.ids[call.ID] = true
				}
			}
		}
	}
	id := call.ID
	if id == "" || c.ids[id] {
		id = w.CallID(c.index, c.calls)
	}
	c.ids[id] = true
	return id
}

// place sets where the text of an event is.
func (c *Choice) place(e *Event) *Event {
	e.Offset = c.offset
	c.offset += utf8.RuneCountInString(e.Text)
	return e
}

// Collect keeps an event for Whole.
func (r *Request) Collect(e *Event) error {
	r.parts = append(r.parts, e)
	return nil
}

// Parts returns the events that were collected, before Whole puts them together.
func (r *Request) Parts() []*Event { return r.parts }

// Whole returns the events that were collected, one for each choice.
func (r *Request) Whole() []*Event {
	all := make([]*Event, len(r.choices))
	texts, thoughts := make([]strings.Builder, len(r.choices)), make([]strings.Builder, len(r.choices))
	for _, e := range r.parts {
		texts[e.Choice].WriteString(e.Text)
		thoughts[e.Choice].WriteString(e.Reasoning)
		one := all[e.Choice]
		if e.First {
			one = e
			all[e.Choice] = e
		} else {
			one.Tokens = append(one.Tokens, e.Tokens...)
			one.End, one.Stop, one.Called = e.End, e.Stop, e.Called
			one.Calls = append(one.Calls, e.Calls...)
		}
	}
	for i, e := range all {
		e.Text, e.Reasoning = texts[i].String(), thoughts[i].String()
	}
	return all
}
