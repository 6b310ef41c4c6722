package grammar

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/attn-go/attn/models/grammar/internal/regular"
)

// mostInside is the most grammars within each other.
const mostInside = 8

// further takes what GBNF does not have, behind its %.
func (p *parser) further() (expr, error) {
	switch name := p.name(); name {
	case "json":
		return p.schema()
	case "gbnf":
		if p.space(p.nesting > 0); !p.take(`"`) {
			return nil, p.fail("a grammar as a string")
		}
		text, err := p.literal()
		if err != nil {
			return nil, err
		}
		if p.inside == mostInside {
			return nil, limitError("grammars within each other", mostInside)
		}
		root, err := parseInto(p.compiler, string(text.(literal)), p.inside+1)
		return ref(root), err
	case "until", "without", "unless":
		texts, err := p.strings()
		return scan{name, texts}, err
	}
	return nil, p.fail("%json, %gbnf, %until, %without or %unless")
}

// schema takes a JSON Schema.
func (p *parser) schema() (expr, error) {
	d := json.NewDecoder(strings.NewReader(p.text[p.at:]))
	var data json.RawMessage
	if err := d.Decode(&data); err != nil {
		return nil, p.fail("a JSON Schema")
	}
	p.at += int(d.InputOffset())
	start, err := p.addSchema(data)
	return ref(start), err
}

// mostScanned is the most bytes of the strings of a [scan].
const mostScanned = 1 << 12

// strings takes strings in parentheses.
func (p *parser) strings() (texts []string, err error) {
	if !p.take("(") {
		return nil, p.fail("( and strings")
	}
	bytes := 0
	for more := true; more; more = p.take(",") {
		if p.space(true); !p.take(`"`) {
			return nil, p.fail("a string")
		}
		text, err := p.literal()
		if err != nil {
			return nil, err
		}
		if text == literal("") {
			return nil, p.fail("a string that is not empty")
		}
		texts = append(texts, string(text.(literal)))
		if bytes += len(text.(literal)); bytes > mostScanned {
			return nil, limitError("bytes of strings to look for", mostScanned)
		}
		p.space(true)
	}
	if !p.take(")") {
		return nil, p.fail("a comma or )")
	}
	return texts, nil
}

// A scan is any bytes up to some texts, without them, or that do not begin with them.
type scan struct {
	kind  string // until, without or unless
	texts []string
}

// scan adds a position for each beginning of a text that the bytes so far may become.
func (b *builder) scan(e scan, to int32) int32 {
	known := map[string]int32{"": 0}
	states := []string{""}
	for _, text := range e.texts {
		for n := 1; n < len(text); n++ {
			if _, ok := known[text[:n]]; !ok {
				known[text[:n]] = 0
				states = append(states, text[:n])
			}
		}
	}
	for _, s := range states {
		known[s] = b.add(position{})
	}
	rest := int32(-1) // of unless: any bytes
	if e.kind == "unless" {
		rest = b.add(position{jumps: []int32{to}})
		b.positions[rest].edges = []edge{{regular.ByteRange{Lo: 0, Hi: 255}, rest}}
	}
	if e.kind == "unless" {
		b.positions[rest].noisy = 1 << ('@' & 63) // some bit, as 0 is none
	} else {
		for _, text := range e.texts {
			b.positions[known[""]].noisy |= 1 << (text[0] & 63)
		}
	}
	for _, s := range states {
		p := &b.positions[known[s]]
		if e.kind != "until" {
			p.jumps = []int32{to}
		}
		for c := range 256 {
			next, goes := e.after(s+string([]byte{byte(c)}), known, to, rest)
			if last := len(p.edges) - 1; goes && last >= 0 && p.edges[last].to == next && int(p.edges[last].Hi) == c-1 {
				p.edges[last].Hi = byte(c)
			} else if goes {
				p.edges = append(p.edges, edge{regular.ByteRange{Lo: byte(c), Hi: byte(c)}, next})
			}
		}
	}
	return known[""]
}

// after returns the position after bytes of which all but the last were no text.
func (e *scan) after(bytes string, known map[string]int32, to, rest int32) (at int32, goes bool) {
	if e.kind == "unless" {
		if slices.Contains(e.texts, bytes) {
			return 0, false
		}
		if at, ok := known[bytes]; ok {
			return at, true
		}
		return rest, true
	}
	if slices.ContainsFunc(e.texts, func(text string) bool { return strings.HasSuffix(bytes, text) }) {
		return to, e.kind == "until"
	}
	for {
		if at, ok := known[bytes]; ok {
			return at, true
		}
		bytes = bytes[1:]
	}
}
