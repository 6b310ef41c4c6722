package jinja

import (
	"fmt"

	"github.com/attn-go/attn/kernel"
)

// functions are what every template can call.
var functions = map[string]operation{
	"range":           takes("range(*args)", rangeOf),
	"namespace":       namespace,
	"dict":            dictOf,
	"cycler":          takes("cycler(*items)", newCycler),
	"joiner":          takes("joiner(sep=', ')", joiner),
	"raise_exception": takes("raise_exception(message)", raise),
	"lipsum":          unsupported("the function lipsum", chance),
}

// globals are the variables of every template.
var globals = func() map[string]value {
	all := map[string]value{}
	for name, do := range functions {
		all[name] = callable{do: do}
	}
	return all
}()

// mostItems is the most that range returns, as in jinja2's sandbox.
const mostItems = 100_000

func rangeOf(r *runner, _ value, b []value) value {
	given := b[0].(*List).items
	start, stop, step := int64(0), int64(0), int64(1)
	switch len(given) {
	case 1:
		stop = r.integer(given[0])
	case 2, 3:
		start, stop = r.integer(given[0]), r.integer(given[1])
		if len(given) == 3 {
			step = r.integer(given[2])
		}
	default:
		r.fail("range has %d arguments, want 1 to 3", len(given))
	}
	if step == 0 {
		r.fail("range with step 0")
	}
	return r.span(start, stop, step)
}

// span returns a range.
func (r *runner) span(start, stop, step int64) *List {
	l := &List{kind: span, depth: 1, label: fmt.Sprintf("range(%d, %d)", start, stop)}
	if step != 1 {
		l.label = fmt.Sprintf("range(%d, %d, %d)", start, stop, step)
	}
	for i := start; step > 0 && i < stop || step < 0 && i > stop; i += step {
		if len(l.items) == mostItems {
			r.fail("a range of more than %d", mostItems)
		}
		r.memory(slotSize)
		l.items = append(l.items, i)
		if next := i + step; (next > i) != (step > 0) { // beyond the last integer
			break
		}
	}
	return l
}

// sliceSpan returns a slice of a range, which is one too.
func (r *runner) sliceSpan(l *List, b bounds) *List {
	var start, stop, step int64
	fmt.Sscanf(l.label, "range(%d, %d, %d)", &start, &stop, &step)
	if step == 0 {
		step = 1
	}
	b = b.of(len(l.items))
	return r.span(start+b.from*step, start+b.to*step, step*b.step)
}

func namespace(r *runner, _ value, a args) value {
	n := &space{values: map[string]value{}}
	for _, e := range dictOf(r, nil, a).(*Dict).entries {
		r.read(e.key)
		r.name(n, r.text(e.key).text, e.value)
	}
	return n
}

// name gives a value to a name in a namespace.
func (r *runner) name(n *space, name string, v value) {
	if name != "" && name[0] == '_' {
		r.fail("a namespace with the name %.40q, want none that begins with _", name)
	}
	if _, ok := n.values[name]; !ok {
		r.memory(entrySize)
		n.names = append(n.names, name)
	}
	n.values[name] = v
}

// dictOf returns a dict of a mapping or of pairs, and of names.
func dictOf(r *runner, _ value, a args) value {
	d := NewDict()
	switch len(a.positional) {
	case 0:
	case 1:
		r.fill(d, a.positional[0])
	default:
		r.fail("dict has %d arguments without names, want one", len(a.positional))
	}
	for i, name := range a.names {
		r.put(d, Inside(name), a.named[i])
	}
	return d
}

// fill puts the entries of a mapping, or pairs, into a dict.
func (r *runner) fill(d *Dict, from value) {
	if m, ok := from.(*Dict); ok {
		for _, e := range m.entries {
			r.put(d, e.key, e.value)
		}
		return
	}
	next := r.each(from)
	for v, ok := next(); ok; v, ok = next() {
		pair := r.items(v)
		if len(pair) != 2 {
			r.fail("a dict of %d values, want pairs", len(pair))
		}
		r.put(d, pair[0], pair[1])
	}
}

// cycler is what cycler() returns.
type cycler struct {
	items []value
	at    int
}

func newCycler(r *runner, _ value, b []value) value {
	items := b[0].(*List).items
	if len(items) == 0 {
		r.fail("cycler without items")
	}
	return &cycler{items: items}
}

// cyclerMethods are the methods of cycler.
var cyclerMethods = map[string]operation{
	"next": of("next()", func(r *runner, c *cycler, _ []value) value {
		c.at++
		return c.items[(c.at-1)%len(c.items)]
	}),
	"reset": of("reset()", func(r *runner, c *cycler, _ []value) value {
		c.at = 0
		return nil
	}),
}

// joiner returns a function that returns the separator, but for the first call.
func joiner(r *runner, _ value, b []value) value {
	used := false
	return callable{do: alone("joiner", func(r *runner, _ value) value {
		if used {
			return b[0]
		}
		used = true
		return Str{}
	})}
}

func raise(r *runner, _ value, b []value) value {
	panic(&kernel.Error{Where: "messages", Got: r.show(b[0]).text, Want: "messages that the template takes", Kind: ErrRefused})
}

// Function is a variable that templates call with strings.
type Function struct {
	Signature string // of strings, such as "strftime_now(format)"
	Call      func(args ...string) (string, error)
}

// operation returns the function as an operation of this package.
func (f *Function) operation() operation {
	return takes(f.Signature, func(r *runner, _ value, b []value) value {
		var texts []string
		for _, v := range b {
			texts = append(texts, r.text(v).text)
		}
		s, err := f.Call(texts...)
		if err != nil {
			r.fail("%v", err)
		}
		r.memory(len(s))
		return Inside(s)
	})
}
