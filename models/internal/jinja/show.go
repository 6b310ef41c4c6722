package jinja

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/attn-go/attn/models/internal/jinja/python"
)

// show returns what printing a value gives.
func (r *runner) show(v value) Str {
	switch v := v.(type) {
	case undefined:
		return Str{}
	case Str:
		return v
	}
	b := builder{m: &r.meter}
	r.repr(&b, v)
	return b.str()
}

// repr writes a value as Python does within lists.
func (r *runner) repr(b *builder, v value) {
	r.work(nodeCost)
	switch v := v.(type) {
	case nil:
		b.inside("None")
	case undefined:
		b.inside("Undefined")
	case bool:
		if v {
			b.inside("True")
		} else {
			b.inside("False")
		}
	case int64:
		b.inside(strconv.FormatInt(v, 10))
	case longInt:
		b.inside(string(v))
	case float64:
		b.inside(python.FormatFloat(v))
	case Str:
		if v.safe {
			b.inside("Markup(")
		}
		r.quote(b, v)
		if v.safe {
			b.inside(")")
		}
	case *space:
		r.reprSpace(b, v)
	case *position:
		b.inside(fmt.Sprintf("<LoopContext %d/%d>", v.index+1, len(v.items)))
	case *List:
		r.reprList(b, v)
	case *Dict:
		b.inside("{")
		for i, e := range v.entries {
			if i > 0 {
				b.inside(", ")
			}
			r.repr(b, e.key)
			b.inside(": ")
			r.repr(b, e.value)
		}
		b.inside("}")
	case callable:
		if v.macro == nil {
			r.fail("%s cannot be printed", typeName(v))
		}
		b.inside("<Macro ")
		r.quote(b, Inside(v.macro.Name))
		b.inside(">")
	default:
		r.fail("%s cannot be printed", typeName(v))
	}
}

// brackets are what kinds of lists are written in.
var brackets = [...]struct{ open, close string }{list: {"[", "]"}, tuple: {"(", ")"}, keys: {"dict_keys([", "])"}, values: {"dict_values([", "])"}, pairs: {"dict_items([", "])"}}

func (r *runner) reprList(b *builder, l *List) {
	if l.kind == span {
		b.inside(l.label)
		return
	}
	b.inside(brackets[l.kind].open)
	for i, v := range l.items {
		if i > 0 {
			b.inside(", ")
		}
		r.repr(b, v)
	}
	if l.kind == tuple && len(l.items) == 1 {
		b.inside(",")
	}
	b.inside(brackets[l.kind].close)
}

// reprSpace writes a namespace.
func (r *runner) reprSpace(b *builder, n *space) {
	r.down() // as a namespace may be in itself
	b.inside("<Namespace {")
	for i, name := range n.names {
		if i > 0 {
			b.inside(", ")
		}
		r.quote(b, Inside(name))
		b.inside(": ")
		r.repr(b, n.values[name])
	}
	b.inside("}>")
	r.up()
}

// quote writes a string as Python's repr does.
func (r *runner) quote(b *builder, s Str) {
	r.read(s)
	mark := '\''
	if strings.Contains(s.text, "'") && !strings.Contains(s.text, `"`) {
		mark = '"'
	}
	b.inside(string(mark))
	b.converted(s, func(t string) string { return python.Quoted(t, mark) })
	b.inside(string(mark))
}
