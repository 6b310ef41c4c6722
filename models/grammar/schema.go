package grammar

import "github.com/attn-go/attn/models/grammar/internal/regular"

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"
)

// FromSchema returns the grammar of the JSON values that a JSON Schema takes: every text
// of the grammar is JSON that satisfies the schema by draft 2020-12, or by the earlier one
// that its $schema names (of drafts 4, 6 and 7, in which nothing counts beside $ref).
// These keywords count, in any combination:
//
//	type, enum, const
//	minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf
//	minLength, maxLength, pattern, format
//	items, prefixItems, additionalItems, minItems, maxItems, contains, minContains, maxContains,
//	uniqueItems, unevaluatedItems
//	properties, patternProperties, additionalProperties, required, propertyNames, minProperties,
//	maxProperties, dependentRequired, dependentSchemas, dependencies, unevaluatedProperties
//	allOf, anyOf, oneOf, not, if, then, else
//	$ref, $dynamicRef with one place to go, $id, $anchor: to parts of the same schema
//
// Formats are date, time, date-time, duration, uuid, ipv4, ipv6, hostname, email, uri,
// uri-reference, json-pointer and relative-json-pointer, which values must have, and of
// numbers int32 and int64. All other keywords and formats are annotations, which the
// standard says to ignore. An error that says where are: $recursiveRef, references to
// other documents, the formats idn-email, idn-hostname, iri, iri-reference, uri-template
// and regex, what looks ahead (but behind ^ at the beginning) or back or refers to a group
// in an expression, {,n} in one, uniqueItems and unevaluated... below not or where oneOf
// or if needs the contrary, and unevaluatedItems beside contains. A schema whose
// alternatives or automata are too many is one, too.
//
// The grammar does not have every text of such a value. Members come in any order, a key that the
// schema names once. Strings of which more than the length is limited, and keys, have escapes only
// where JSON needs them. Integers have no point and no exponent, and up to 16 digits, or 18 or as
// many as a bound has. Numbers have up to 16 digits before and behind the point and two of an
// exponent, as in llama.cpp, so that a float64 has them; with bounds other than 0 or multipleOf
// they have no exponent. Numbers of enum and const are as they are written there. Where a part of a
// format is taken, it is one that all readers take: host names of up to four long labels or 15
// short ones, seconds up to 59. Between the parts of arrays and objects there is nothing, a space,
// or one or two ends of lines with up to 20 spaces and tabs. Nothing is before and after the value.
//
// The error is a [*kernel.Error].
func FromSchema(data []byte) (*Grammar, error) {
	if len(data) > mostText {
		return nil, limitError("bytes of a schema", mostText)
	}
	c := &compiler{}
	start, err := c.addSchema(data)
	if err != nil {
		return nil, err
	}
	return newGrammar(Source{string(data), true}, c.rules, start)
}

// addSchema adds the rules of a schema to those that there are, and returns the number of the one
// that texts are of.
func (c *compiler) addSchema(data []byte) (int, error) {
	root, err := readJSON(data)
	if err != nil {
		return 0, err
	}
	*c = compiler{
		index: newIndex(root), nodes: map[string]*domain{}, shapes: map[part][]*shape{}, going: map[part]bool{},
		met: map[[2]*regular.Texts]*regular.Texts{}, common: c.common, constants: map[*value]*value{}, patterns: map[string]*regular.Texts{},
		tables: c.tables, rules: c.rules,
	}
	if c.common == nil {
		c.common = map[string]ref{}
	}
	start, err := c.compile(root)
	return int(start), err
}

// A compiler makes rules of a schema: first shapes of what it says, then rules of those
// that values can satisfy.
type compiler struct {
	*index
	nodes     map[string]*domain
	order     []*domain
	shapes    map[part][]*shape
	going     map[part]bool // whose shapes are being made
	depth     int
	met       map[[2]*regular.Texts]*regular.Texts
	patterns  map[string]*regular.Texts
	constants map[*value]*value // schemas of constants
	tables    int               // entries of automata
	rules     []rule
	common    map[string]ref // rules of every schema, by name
}

// mostTables is the most entries of all automata that are made for the schemas of one grammar.
const mostTables = 1 << 23

// charge counts an automaton.
func (c *compiler) charge(d *regular.Texts) *regular.Texts {
	if d != nil {
		c.tables += len(d.Next)
	}
	if c.tables > mostTables {
		panic(limitError("states and classes of all automata of a schema", mostTables))
	}
	return d
}

// A part is the values that a schema takes, or all others.
type part struct {
	schema *value
	not    bool
}

// A domain is the values that all of its parts take.
type domain struct {
	parts  []part
	shapes []*shape
	known  bool // shapes are made
	live   bool // some value satisfies them
	asked  bool // for its rule
	rule   ref  // of a node that is live
}

// mostNodes is the most sets of values of one schema.
const mostNodes = 1 << 14

// node returns the values that a schema takes, or all others.
func (c *compiler) node(v *value, not bool) *domain { return c.of([]part{{v, not}}) }

// and returns the values of both. Nil is all values.
func (c *compiler) and(list ...*domain) *domain {
	var parts []part
	one, several := (*domain)(nil), false
	for _, n := range list {
		if n != nil && n != one {
			several = one != nil
			one = n
			parts = append(parts, n.parts...)
		}
	}
	if !several {
		return one
	}
	return c.of(parts)
}

func (c *compiler) of(parts []part) *domain {
	parts = slices.Clone(parts)
	for i := range parts {
		parts[i].schema = c.target(parts[i].schema)
	}
	parts = slices.DeleteFunc(parts, func(p part) bool { return p.schema.is("true") && !p.not })
	if len(parts) == 0 {
		return nil
	}
	id := func(p part) int {
		if p.not {
			return 2*c.sites[p.schema].id + 1
		}
		return 2 * c.sites[p.schema].id
	}
	slices.SortFunc(parts, func(a, b part) int { return cmp.Compare(id(a), id(b)) })
	parts = slices.Compact(parts)
	var key []byte
	for _, p := range parts {
		key = binary.AppendUvarint(key, uint64(id(p)))
	}
	n := c.nodes[string(key)]
	if n == nil {
		if len(c.nodes) == mostNodes {
			panic(limitError("sets of values of a schema", mostNodes))
		}
		n = &domain{parts: parts}
		c.nodes[string(key)] = n
	}
	return n
}

// target follows references with nothing beside them.
func (c *compiler) target(v *value) *value {
	for range mostNesting {
		r := v.field("$ref")
		if r == nil || r.kind != "string" || len(v.keys) > 1 {
			break
		}
		to := c.resolve(r.text, c.sites[v].resource)
		if to == nil || to.kind != "object" {
			break
		}
		v = to
	}
	return v
}

// errLoop is the error of a shape that is asked for while it is made.
var errLoop = errors.New("grammar: a schema that leads to itself")

// expand makes the shapes of a node.
func (c *compiler) expand(n *domain) error {
	if n.known {
		return nil
	}
	list := others()
	for i, p := range n.parts {
		x, err := c.shapesOf(p)
		if err != nil {
			return err
		}
		if i == 0 {
			list = x
		} else {
			list = c.product(list, x)
		}
	}
	n.shapes, n.known = list, true
	return nil
}

// shapesOf returns the values of a part.
func (c *compiler) shapesOf(p part) (list []*shape, err error) {
	p.schema = c.target(p.schema)
	if list, ok := c.shapes[p]; ok {
		return list, nil
	}
	v, at := p.schema, c.sites[p.schema].at
	if v.is("true") || v.is("false") {
		if v.is("true") != p.not {
			list = others()
		}
		return list, nil
	}
	if v.kind != "object" {
		return nil, fault(at, short(v), "an object, true or false")
	}
	if c.going[p] {
		return nil, errLoop
	}
	c.going[p] = true
	defer delete(c.going, p)
	if c.depth++; c.depth > mostNesting {
		return nil, limitError("schemas within each other", mostNesting)
	}
	defer func() { c.depth-- }()
	s := &statement{compiler: c, v: v, at: at}
	if p.not {
		list, err = s.violations()
	} else {
		list, err = s.values()
	}
	if err != nil {
		return nil, err
	}
	if len(list) > mostShapes {
		return nil, limitError("alternatives of one schema", mostShapes)
	}
	c.shapes[p] = list
	return list, nil
}

// A statement is a schema that is an object.
type statement struct {
	*compiler
	v  *value
	at *place
}

// counts tells whether a keyword says something.
func (s *statement) counts(row *keyword) bool {
	if s.old && s.v.field("$ref") != nil && row.names[0] != "$ref" {
		return false
	}
	return slices.ContainsFunc(row.names, func(name string) bool { return s.v.field(name) != nil })
}

// values returns the values that satisfy all keywords.
func (s *statement) values() ([]*shape, error) {
	list := others()
	for i := range keywords {
		row := &keywords[i]
		if !s.counts(row) {
			continue
		}
		x, err := row.yes(s)
		if err != nil {
			return nil, err
		}
		list = s.product(list, x)
	}
	return s.unevaluated(list)
}

// violations returns the values that violate a keyword.
func (s *statement) violations() (list []*shape, err error) {
	for i := range keywords {
		row := &keywords[i]
		if !s.counts(row) {
			continue
		}
		x, err := row.no(s)
		if err != nil {
			return nil, err
		}
		list = append(list, x...)
	}
	for _, key := range []string{"unevaluatedProperties", "unevaluatedItems"} {
		if s.v.field(key) != nil {
			return nil, s.unsupported(key)
		}
	}
	return list, nil
}

// unsupported reports a keyword of which this package cannot say what does not satisfy it.
func (s *statement) unsupported(key string) error {
	return fault(join(s.at, key), "a keyword below not, oneOf or if", "one whose contrary package grammar knows")
}

// clearlyEmpty tells whether it is clear that no value is of a node.
func (c *compiler) clearlyEmpty(n *domain, depth int) (bool, error) {
	if n == nil {
		return false, nil
	}
	if err := c.expand(n); errors.Is(err, errLoop) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	for _, s := range n.shapes {
		empty, err := c.emptyShape(s, depth)
		if !empty || err != nil {
			return false, err
		}
	}
	return true, nil
}

// emptyShape looks at numbers, strings and required properties.
func (c *compiler) emptyShape(s *shape, depth int) (bool, error) {
	switch {
	case s.kind == isNumber && s.numbers.only == nil:
		return c.charge(s.numbers.texts()).Empty(), nil
	case s.kind == isString:
		d := c.charge(s.strings())
		return d != nil && d.Empty(), nil
	case s.kind == isArray && depth < 4:
		for i := range min(s.least, len(s.prefix)+1) {
			if empty, err := c.clearlyEmpty(s.item(i), depth+1); empty || err != nil {
				return empty, err
			}
		}
	case s.kind == isObject && depth < 4:
		for name := range s.required {
			if empty, err := c.clearlyEmpty(c.member(s, name), depth+1); empty || err != nil {
				return empty, err
			}
		}
	}
	return false, nil
}

// member returns what the value of a key is, nil for any.
func (c *compiler) member(s *shape, name string) *domain {
	var list []*domain
	for i := range s.every {
		if r := &s.every[i]; r.applies(name) {
			list = append(list, r.value)
		}
	}
	return c.and(list...)
}
