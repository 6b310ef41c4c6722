package answer

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/grammar"
)

// ErrTool is the kind of a [kernel.Error] about a tool whose calls no grammar can promise. Arg is
// Tools with its index.
var ErrTool = errors.New("answer: a tool whose calls no grammar can promise")

// toolError reports a tool.
func toolError(i int, err error) error {
	return &kernel.Error{Where: fmt.Sprintf("answer: Tools[%d]", i), Got: err.Error(), Want: "a schema that a grammar can have", Kind: ErrTool}
}

// errCopies says that a grammar would be too long.
var errCopies = errors.New("definitions that its properties refer to so often that a grammar has more than 1 MiB of them")

// mostText is the most bytes of a schema, and of definitions in a grammar: package grammar takes no
// longer text.
const mostText = 1 << 20

// readable reports a schema that is too large or too deep to be read.
func readable(schema json.RawMessage) error {
	if len(schema) > mostText {
		return fmt.Errorf("a schema of %d bytes, more than %d", len(schema), mostText)
	}
	depth, quoted := 0, false
	for i := 0; i < len(schema); i++ {
		switch b := schema[i]; {
		case quoted && b == '\\':
			i++
		case b == '"':
			quoted = !quoted
		case quoted:
		case b == '{' || b == '[':
			if depth++; depth > deepest {
				return fmt.Errorf("a schema with more than %d values within each other", deepest)
			}
		case b == '}' || b == ']':
			depth--
		}
	}
	return nil
}

// Grammar returns the grammar of an answer, nil if it may be any text: thinking, and then content
// as asked for or calls that satisfy the schemas of their tools. Where calls are not required, any
// text may come before them, and of a tool that is not strict, what no grammar can keep of its
// schema is left out.
//
// The error is a [*kernel.Error], of the kind [ErrTool], or package grammar's about a form.
func (f *Format) Grammar(a Asked) (*grammar.Grammar, error) {
	if len(a.Tools) == 0 && (a.Form == nil || f.think.end == "" && f.final == "") {
		if a.Form == nil {
			return nil, nil
		}
		return a.Form.Grammar()
	}
	if a.Form != nil { // so that its error is its own
		if _, err := a.Form.Grammar(); err != nil {
			return nil, err
		}
	}
	for i := range a.Tools {
		if err := readable(a.Tools[i].Parameters); err != nil {
			return nil, toolError(i, err)
		}
	}
	text, err := f.text(&a)
	if err == nil {
		var g *grammar.Grammar
		if g, err = grammar.Parse(text); err == nil {
			return g, nil
		}
	}
	if errors.Is(err, ErrTool) { // which leaving out does not mend
		return nil, err
	}
	a.Tools = slices.Clone(a.Tools)
	room := mostText
	for i := range a.Tools {
		err := f.keeps(&a.Tools[i])
		if err == nil {
			continue
		}
		if a.Required || a.Tools[i].Strict {
			return nil, toolError(i, err)
		}
		a.Tools[i].Parameters = f.loosened(&a.Tools[i], &room)
	}
	if text, err = f.text(&a); err != nil {
		return nil, err
	}
	return grammar.Parse(text)
}

// rules are the rules of the grammar that is written.
type rules struct {
	b      strings.Builder
	n      int
	copied int  // bytes of definitions
	any    bool // there is a rule of any value
}

// add adds a rule and returns its name.
func (g *rules) add(is string) string {
	g.n++
	name := fmt.Sprintf("r%d", g.n)
	fmt.Fprintf(&g.b, "%s ::= %s\n", name, is)
	return name
}

// text returns the grammar of a text without quotes, with what ends it.
func (g *rules) text(k kind, end string) string {
	if len(k.Enum) == 0 {
		return "%until(" + quoted(end) + ")"
	}
	var all []string
	for _, v := range k.Enum {
		var text string
		_ = json.Unmarshal(v, &text) // it is a string
		all = append(all, quoted(text+end))
	}
	return "(" + strings.Join(all, " | ") + ")"
}

// quoted returns a text as grammars have it.
func quoted(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(text) + `"`
}

// text returns the text of the grammar of an answer.
func (f *Format) text(a *Asked) (string, error) {
	g := &rules{}
	content := ""
	if a.Form != nil {
		if a.Form.JSON {
			content = "%json " + line(json.RawMessage(a.Form.Text))
		} else {
			content = "%gbnf " + quoted(a.Form.Text)
		}
		content = quoted(f.final) + " " + content
	}
	root := content
	if len(a.Tools) > 0 {
		calls, err := f.calls(g, a)
		if err != nil {
			return "", err
		}
		switch {
		case a.Required:
			root = calls
		case a.Form != nil:
			root = g.add(calls) + " | " + content
		default:
			root = f.free(a) + " " + g.add(calls) + "? | " + f.other(a)
		}
	}
	root = g.add(root)
	if think := f.thinking(a); think != "" {
		root = think + " " + root
	}
	return "root ::= " + root + "\n" + g.b.String(), nil
}

// calls returns the grammar of calls.
func (f *Format) calls(g *rules, a *Asked) (string, error) {
	var all []string
	for i := range a.Tools {
		one, err := f.rule(g, &a.Tools[i])
		if errors.Is(err, errCopies) {
			err = toolError(i, err)
		}
		if err != nil {
			return "", err
		}
		all = append(all, g.add(one))
	}
	call := g.add(strings.Join(all, " | "))
	list := f.several(call)
	if a.Single {
		list = strings.Replace(strings.Replace(list, `(", " `+call+`)*`, "", 1), "  ", " ", -1)
	}
	one := g.add(quoted(f.begins[0]) + " " + list + " " + quoted(f.end))
	if !a.Single && f.begins[0] != "" && !strings.Contains(list, ")*") {
		one += ` ("\n"? ` + one + ")*"
	}
	return quoted(f.before) + " " + one + " " + quoted(f.after), nil
}

// free returns the grammar of a text before calls.
func (f *Format) free(a *Asked) string {
	var marks []string
	for _, begin := range append(slices.Clone(f.begins), f.before) {
		if begin != "" && !slices.Contains(marks, quoted(begin)) {
			marks = append(marks, quoted(begin))
		}
	}
	if len(marks) == 0 {
		return `""`
	}
	return "%without(" + strings.Join(marks, ", ") + ")"
}

// other returns the grammar of content beside calls without a beginning.
func (f *Format) other(a *Asked) string {
	starts := f.starts(a)
	if f.begins[0] != "" || len(starts) == 0 {
		return `""`
	}
	all := make([]string, len(starts))
	for i, text := range starts {
		all[i] = quoted(text)
	}
	return "%unless(" + strings.Join(all, ", ") + ")"
}

// thinking returns the grammar of thinking before the rest, "" for none.
func (f *Format) thinking(a *Asked) string {
	gap := `[ \n\r\t]{0,4}`
	if f.gap != "" {
		gap = quoted(f.gap)
	}
	until := "%until(" + quoted(f.think.end) + ") " + gap
	switch {
	case f.think.end == "":
		return ""
	case a.Open:
		return until
	case f.think.begin == "":
		return ""
	}
	return "(" + quoted(f.think.begin) + " " + until + ")?"
}
