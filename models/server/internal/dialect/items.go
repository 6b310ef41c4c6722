package dialect

import (
	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/server/internal/request"
)

// A kind of [item].
type itemKind int

const (
	textItem itemKind = iota
)

// An item is a part of an answer that is of one kind, in APIs whose answers have such parts.
type item struct {
	itemKind
	text   string // as far as it goes
	tokens []decoder.Token
	bytes  func(id int32) []byte // of a token
}

// An itemWriter writes a stream of items. Of each, begin comes first, then grow for what it grows by, then end.
type itemWriter interface {
	begin(i int, it *item)
	grow(i int, it *item, by *item)
	end(i int, it *item)
}

// An itemStream are the items of a stream.
type itemStream struct {
	items []item
	open  bool // the last one may grow
}

// add writes what an event adds.
func (s *itemStream) add(w itemWriter, e *request.Event) {
	for _, by := range itemsOf(e) {
		last := len(s.items) - 1
		if s.open && s.items[last].itemKind != by.itemKind {
			s.end(w)
		}
		if !s.open {
			s.items, s.open = append(s.items, item{itemKind: by.itemKind}), true
			last = len(s.items) - 1
			w.begin(last, &s.items[last])
		}
		it := &s.items[last]
		it.text, it.bytes = it.text+by.text, by.bytes
		it.tokens = append(it.tokens, by.tokens...)
		w.grow(last, it, &by)
	}
}

// end ends the last item.
func (s *itemStream) end(w itemWriter) {
	if s.open {
		s.open = false
		w.end(len(s.items)-1, &s.items[len(s.items)-1])
	}
}

// itemsOf returns the items of an event, which may be a whole answer.
func itemsOf(e *request.Event) (list []item) {
	if e.Text != "" || len(e.Tokens) > 0 {
		list = append(list, item{textItem, e.Text, e.Tokens, e.Bytes})
	}
	return list
}
