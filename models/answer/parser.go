package answer

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"

	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/grammar"
)

// A Parser takes an answer apart as it grows. What it gives does not depend on how the text comes
// in parts.
type Parser struct {
	f     *Format
	asked *Asked

	buf      string // what is not given yet
	thinking bool
	first    bool // nothing but spaces has been given of what goes on
	begun    bool // content or calls have been given
	marks    []string

	list    progress
	mark    int  // where the calls of list begin
	calls   int  // that have been given
	given   int  // of list
	opened  bool // the call behind those has been given as far as it goes
	schemas map[string]*grammar.Grammar
}

// Parser returns a parser of an answer.
func (f *Format) Parser(a Asked) *Parser {
	p := &Parser{f: f, asked: &a, thinking: a.Open, first: a.Open}
	p.marks = append(p.marks, f.drops...)
	if f.think.begin != "" {
		p.marks = append(p.marks, f.think.begin)
	}
	if len(a.Tools) > 0 {
		for _, begin := range f.begins {
			if begin != "" {
				p.marks = append(p.marks, begin)
			}
		}
	}
	return p
}

// Thinking tells whether what comes next is thinking, as far as can be told.
func (p *Parser) Thinking() bool { return p.thinking }

// Add takes what the answer grows by.
func (p *Parser) Add(text string) Part {
	if text == "" {
		return Part{}
	}
	p.buf += text
	return p.read(false)
}

// End returns what is left at the end.
func (p *Parser) End() Part { return p.read(true) }

// read gives all that is certain.
func (p *Parser) read(over bool) (to Part) {
	for p.buf != "" {
		if p.first {
			if p.buf = strings.TrimLeft(p.buf, " \t\r\n"); p.buf == "" {
				break
			}
		}
		if p.thinking {
			if !p.think(&to, over) {
				break
			}
			continue
		}
		if !p.content(&to, over) {
			break
		}
	}
	return to
}

// think gives thinking, and tells whether it ends.
func (p *Parser) think(to *Part, over bool) bool {
	before, after, ends := strings.Cut(p.buf, p.f.think.end)
	if ends {
		p.thinking, p.first, p.buf = false, true, after
		to.Reasoning += trimmed(before)
		return true
	}
	n := len(p.buf)
	if !over {
		n = len(trimmed(p.buf[:n-partOf(p.buf, []string{p.f.think.end})]))
	}
	p.give(&to.Reasoning, n)
	return false
}

// give gives the first bytes of what there is.
func (p *Parser) give(to *string, n int) {
	*to += p.buf[:n]
	p.buf = p.buf[n:]
	p.first = p.first && n == 0
}

// content gives content, and what it leads to, and tells whether there may be more to do.
func (p *Parser) content(to *Part, over bool) (more bool) {
	if !p.begun && p.offers("") && strings.IndexByte("{[", p.lead()) >= 0 {
		if goes, done := p.call(to, 0, over); done || !goes {
			return goes
		}
	}
	if p.list.at > 0 && p.mark > 0 {
		goes, done := p.call(to, p.mark, over)
		if goes && !done {
			p.text(to, p.mark)
		}
		return goes
	}
	at, mark := len(p.buf), ""
	for _, m := range p.marks {
		if i := strings.Index(p.buf, m); i >= 0 && (i < at || i == at && len(m) > len(mark)) {
			at, mark = i, m
		}
	}
	for _, m := range p.marks {
		if rest := p.buf[at:]; !over && len(m) > len(rest) && strings.HasPrefix(m, rest) { // a longer one may come
			mark = ""
		}
	}
	switch {
	case mark == "":
		n := len(p.buf)
		if !over {
			n -= partOf(p.buf, p.marks)
			if n0 := len(trimmed(p.buf[:n])); len(p.asked.Tools) > 0 || n0 == 0 && !p.begun { // spaces before a call or thinking are no content
				n = n0
			}
		}
		p.text(to, n)
		return false
	case p.offers(mark):
		spaces := p.buf[len(trimmed(p.buf[:at])):at]
		p.text(to, at-len(spaces))
		goes, done := p.call(to, len(spaces)+len(mark), over)
		if goes && !done {
			p.text(to, len(spaces)+len(mark))
		}
		return goes
	case mark != p.f.think.begin: // what is dropped
		p.text(to, at)
		p.buf, p.first = p.buf[len(mark):], true
	case len(p.f.drops) > 0 || !p.begun && trimmed(p.buf[:at]) == "":
		if len(p.f.drops) > 0 {
			p.text(to, at)
			at = 0
		}
		p.buf = p.buf[at+len(mark):]
		p.thinking, p.first = true, true
	default:
		p.text(to, at+len(mark))
	}
	return true
}

// lead returns the first byte that is no space.
func (p *Parser) lead() byte {
	if rest := strings.TrimLeft(p.buf, " \t\r\n"); rest != "" {
		return rest[0]
	}
	return 0
}

// offers tells whether a text begins calls.
func (p *Parser) offers(mark string) bool {
	if len(p.asked.Tools) == 0 {
		return false
	}
	for _, begin := range p.f.begins {
		if begin == mark {
			return true
		}
	}
	return false
}

// text gives content.
func (p *Parser) text(to *Part, n int) {
	if n > 0 && strings.TrimSpace(p.buf[:n]) != "" {
		p.begun = true
	}
	p.give(&to.Text, n)
}

// call reads calls from a place on. goes says that the text is read on, and done that there were
// calls.
func (p *Parser) call(to *Part, at int, over bool) (goes, done bool) {
	c := &cursor{text: p.buf, at: at, over: over, list: p.list, written: p.asked.written(p.f)}
	c.space()
	calls := p.f.read(c, p.asked)
	if c.going() && p.f.end != "" {
		c.space()
		if !c.try(p.f.end) && over && strings.HasPrefix(p.f.end, c.text[c.at:]) { // it is cut off
			c.at = len(c.text)
		}
	}
	grows := p.asked.Grows && c.written
	if c.more {
		if p.list, p.mark = c.list, at; grows {
			p.open(to, c)
		}
		return false, false
	}
	if p.list = (progress{}); c.bad && over && grows && (p.opened || p.given > 0) { // the call breaks off
		p.open(to, c)
		p.buf = ""
		return false, true
	}
	if c.bad || len(calls) == 0 || !p.counts(calls) {
		p.calls, p.given, p.opened = p.calls+p.given, 0, false // those that are given stay so
		return true, false
	}
	to.Calls = append(to.Calls, calls[p.given:]...)
	p.calls += len(calls)
	p.given, p.opened = 0, false
	p.buf, p.begun, p.first = p.buf[c.at:], true, true
	return true, true
}

// open gives the calls of a list that are complete, and the one behind them as far as it goes.
func (p *Parser) open(to *Part, c *cursor) {
	to.Calls = append(to.Calls, c.list.calls[p.given:]...)
	p.given = len(c.list.calls)
	if c.open != nil && p.asked.tool(c.open.Name) != nil {
		to.Open, p.opened = c.open, true
	}
}

// counts tells whether calls are what was asked for. Some were written by a grammar. Others have no
// key twice, and where nothing begins calls, a grammar lets other content be like them, so that
// their arguments must satisfy their schemas.
func (p *Parser) counts(calls []chattemplate.ToolCall) bool {
	if p.asked.Single && p.calls+len(calls) > 1 {
		return false
	}
	for _, call := range calls {
		if !p.asked.written(p.f) && (!unique(call.Arguments) || p.f.begins[0] == "" && !p.satisfies(call.Name, call.Arguments)) {
			return false
		}
	}
	return true
}

// satisfies tells whether arguments satisfy the schema of a tool, if a grammar has that.
func (p *Parser) satisfies(name string, arguments json.RawMessage) bool {
	g, ok := p.schemas[name]
	if !ok {
		schema := schemaOf(p.asked.tool(name))
		if readable(schema) == nil {
			g, _ = grammar.FromSchema(closed(schema)) // nil without one
		}
		if p.schemas == nil {
			p.schemas = map[string]*grammar.Grammar{}
		}
		p.schemas[name] = g
	}
	if g == nil {
		return true
	}
	var b bytes.Buffer
	_ = json.Compact(&b, arguments) // they are JSON
	fits, err := g.Match(b.String())
	return fits && err == nil
}

// unique tells whether no object in JSON has a key twice.
func unique(data json.RawMessage) bool {
	type frame struct {
		keys  map[string]bool // nil in a list
		value bool            // of a key comes next
	}
	var open []*frame
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber() // a number may be beyond float64
	for {
		t, err := d.Token()
		switch {
		case err != nil:
			return err == io.EOF
		case t == json.Delim('}') || t == json.Delim(']'):
			open = open[:len(open)-1]
			continue
		}
		if n := len(open); n > 0 && open[n-1].keys != nil {
			in := open[n-1]
			if in.value = !in.value; in.value {
				key := t.(string) // as only they stand there
				if in.keys[key] {
					return false
				}
				in.keys[key] = true
				continue
			}
		}
		switch t {
		case json.Delim('{'):
			open = append(open, &frame{keys: map[string]bool{}})
		case json.Delim('['):
			open = append(open, &frame{})
		}
	}
}

// trimmed returns a text without spaces at its end.
func trimmed(text string) string { return strings.TrimRight(text, " \t\r\n") }

// partOf returns the length of the longest end of a text that some mark begins with.
func partOf(text string, marks []string) (n int) {
	for _, m := range marks {
		for k := min(len(m)-1, len(text)); k > n; k-- {
			if strings.HasSuffix(text, m[:k]) {
				n = k
			}
		}
	}
	return n
}
