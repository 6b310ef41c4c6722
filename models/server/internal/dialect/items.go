package dialect

import (
	"github.com/attn-go/attn/models/answer"
	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/server/internal/request"
)

// An itemKind is a kind of [item].
type itemKind int

const (
	textItem    itemKind = iota
	thoughtItem          // what a model thinks before its text
	callItem             // a call of a tool
)

// An item is a part of an answer that is of one kind, in APIs whose answers have such parts.
type item struct {
	itemKind
	text     string // as far as it goes; of a call, its arguments
	id, name string // of a call
	call     int    // its number among the calls of the answer

	tokens []decoder.Token       // of the text with their logarithms, if these are wanted
	bytes  func(id int32) []byte // of a token
}

// itemsOf returns the items of an event.
func itemsOf(e *request.Event) (list []item) {
	if e.Reasoning != "" {
		list = append(list, item{itemKind: thoughtItem, text: e.Reasoning})
	}
	if e.Text != "" {
		list = append(list, item{itemKind: textItem, text: e.Text, bytes: e.Bytes})
	}
	for _, c := range e.Calls {
		list = append(list, item{itemKind: callItem, text: c.Arguments, id: c.ID, name: c.Name, call: c.Index})
	}
	return list
}

// silent writes nothing of items.
type silent struct{}

func (silent) begin(int, *item) {}
func (silent) grow(int, *item)  {}
func (silent) end(int, *item)   {}

// wholeOf returns the items of an answer that is complete, in the order in which a stream has them,
// and its only choice as one event.
func wholeOf(r *request.Request) ([]item, *request.Event) {
	var s itemStream
	for _, e := range r.Parts() {
		s.add(silent{}, e)
	}
	return s.items, r.Whole()[0]
}

// spoken returns the items of an answer as a message. A call that breaks off has the arguments that
// are whole, as a client may say it.
func spoken(items []item) chattemplate.Message {
	m := chattemplate.Message{Role: "assistant"}
	for _, it := range items {
		switch it.itemKind {
		case textItem:
			m.Content += it.text
		case thoughtItem:
			m.Reasoning += it.text
		case callItem:
			m.Calls = append(m.Calls, chattemplate.ToolCall{ID: it.id, Name: it.name, Arguments: answer.Whole(it.text)})
		}
	}
	return m
}

// An itemWriter writes a stream of items. Of each, begin comes first, then grow for what it grows
// by, then end.
type itemWriter interface {
	begin(i int, it *item)
	grow(i int, by *item)
	end(i int, it *item)
}

// An itemStream are the items of a stream.
type itemStream struct {
	items []item
	open  bool            // the last one may grow
	held  []decoder.Token // of which it is not known yet what they belong to
}

// add writes what an event adds.
func (s *itemStream) add(w itemWriter, e *request.Event) {
	if e.Thought { // its tokens belong to no item, up to a text
		s.held = nil
	}
	if !e.Thought || e.Text != "" {
		s.held = append(s.held, e.Tokens...)
	}
	list := itemsOf(e)
	if last := len(s.items) - 1; e.End != decoder.EndNone && len(list) == 0 && len(s.held) > 0 && s.open && s.items[last].itemKind == textItem {
		list = []item{{itemKind: textItem, bytes: e.Bytes}}
	}
	for _, by := range list {
		if by.itemKind == textItem {
			by.tokens = s.held
		}
		if by.itemKind != thoughtItem {
			s.held = nil
		}
		if s.open {
			if last := &s.items[len(s.items)-1]; last.itemKind != by.itemKind || last.call != by.call {
				s.end(w)
			}
		}
		last := len(s.items) - 1
		if !s.open {
			last++
			s.items, s.open = append(s.items, item{itemKind: by.itemKind, id: by.id, name: by.name, call: by.call, bytes: by.bytes}), true
			w.begin(last, &s.items[last])
		}
		it := &s.items[last]
		it.text += by.text
		it.tokens = append(it.tokens, by.tokens...)
		if by.text != "" || len(by.tokens) > 0 {
			w.grow(last, &by)
		}
	}
}

// end ends the last item.
func (s *itemStream) end(w itemWriter) {
	if s.open {
		s.open = false
		w.end(len(s.items)-1, &s.items[len(s.items)-1])
	}
}
