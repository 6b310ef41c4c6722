package grammar

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// FromSchema returns the grammar of the JSON values that a JSON Schema takes, or of a part of them: every
// text of the grammar is JSON that satisfies the schema by draft 2020-12, and by the earlier ones
// that write it so. Of the schema it takes
//
//	type                one or several; without it what the other keywords are about
//	enum, const         values, written without spaces
//	properties          in their order, those of required always; additionalProperties is false unless
//	                    it is given, and keys of it have no escapes
//	items, prefixItems  with minItems, maxItems; of prefixItems there are all, and nothing after them
//	minLength, maxLength, pattern, format (date, time, date-time, uuid) of strings, of which one at a
//	                    time may limit the characters; expressions are those of package regexp, in which \b
//	                    and ^ or $ within a text are not supported
//	minimum, maximum, exclusiveMinimum, exclusiveMaximum of integers; of numbers minimum 0 alone
//	anyOf, oneOf        if it is clear that no value is of two schemas of oneOf: by types, constants, and
//	                    properties that are required
//	allOf               of one schema
//	$ref                to a part of the same schema: "#" or "#/$defs/name"; $defs, definitions
//
// and ignores what says nothing of values, such as title, description, default. Everything else is an
// error. An integer has up to 16 digits without bounds and up to 18 with one, a number up to 16 before and
// behind the point and two of an exponent, as in llama.cpp, so that a float64 has it. Between the parts
// of arrays and objects there is nothing, a space, or one or two ends of lines with up to 20
// spaces and tabs. Nothing is before and after the value.
//
// The error is a [*SchemaError] or a [*LimitError], or a [*SyntaxError] if no value satisfies a schema or a
// $ref leads to itself.
func FromSchema(data []byte) (*Grammar, error) {
	if len(data) > mostText {
		return nil, &LimitError{"bytes of a schema", mostText}
	}
	root, err := readJSON(data)
	if err != nil {
		return nil, err
	}
	s := &schema{root: root, refs: map[*value]ref{}, targets: map[*value]*value{}, common: map[string]ref{}}
	n, err := s.once(root, &place{name: "#"}, 0)
	if err != nil {
		return nil, err
	}
	return newGrammar(Source{string(data), true}, s.rules, int(n.(ref)))
}

// A schema makes rules of a JSON Schema.
type schema struct {
	root   *value
	rules  []rule
	refs   map[*value]ref // rules of parts that are referred to
	common map[string]ref // rules of every schema, by name

	targets map[*value]*value // of schemas with $ref, what they lead to

	// What is limited, so that a schema takes no longer than its length accounts for.
	compared int // pairs of schemas of oneOf, and their keys and constants
	ranges   int // of characters in expressions
	named    int // bytes of names beside additionalProperties
}

// annotations are keywords that say nothing of values, or are read elsewhere.
var annotations = []string{
	"$schema", "$id", "$comment", "$defs", "definitions", "title", "description", "default", "examples", "example",
	"deprecated", "readOnly", "writeOnly", "discriminator", "contentMediaType", "contentEncoding",
}

// kinds are the types of values, and the keywords of each.
var kinds []kind

// A maker makes the expression of a schema.
type maker func(s *schema, v *value, path *place, depth int) (expr, error)

type kind struct {
	name     string
	keywords []string
	make     maker
}

// forms are keywords that say all of a value, with those that may be beside them.
var forms []form

type form struct {
	keyword string
	beside  []string
	make    maker
}

// What kinds and forms make leads back to them, so they are set here.
func init() {
	kinds = []kind{
		{"null", nil, literally("null")},
		{"boolean", nil, literally("true", "false")},
		{"integer", bounds, (*schema).integer},
		{"number", bounds, (*schema).number},
		{"string", []string{"minLength", "maxLength", "pattern", "format"}, (*schema).string},
		{"array", []string{"items", "prefixItems", "minItems", "maxItems"}, (*schema).array},
		{"object", []string{"properties", "required", "additionalProperties"}, (*schema).object},
	}
	forms = []form{
		{"$ref", nil, (*schema).reference},
		{"const", []string{"type"}, (*schema).constants},
		{"enum", []string{"type"}, (*schema).constants},
		{"anyOf", nil, (*schema).anyOf},
		{"oneOf", nil, (*schema).oneOf},
		{"allOf", nil, (*schema).allOf},
	}
}

var bounds = []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}

// literally makes a choice of texts.
func literally(texts ...string) maker {
	return func(*schema, *value, *place, int) (expr, error) {
		var all choice
		for _, text := range texts {
			all = append(all, literal(text))
		}
		return all, nil
	}
}

// add adds a rule.
func (s *schema) add(name string, e expr) ref {
	s.rules = append(s.rules, rule{name, e})
	return ref(len(s.rules) - 1)
}

// convert returns what a schema takes.
func (s *schema) convert(v *value, path *place, depth int) (expr, error) {
	if depth > mostNesting {
		return nil, &LimitError{"schemas within each other", mostNesting}
	}
	if len(s.rules) > mostPositions { // each has a position at least
		return nil, &LimitError{"rules of the schema", mostPositions}
	}
	if v.is("true") {
		return s.any(), nil
	}
	if v.kind != "object" {
		return nil, fault(path, short(v), "an object or true")
	}
	for _, f := range forms {
		if v.field(f.keyword) != nil {
			if err := only(v, path, append(f.beside, f.keyword)); err != nil {
				return nil, err
			}
			return f.make(s, v, path, depth)
		}
	}
	return s.types(v, path, depth)
}

// only reports a keyword that is none of a list and no annotation.
func only(v *value, path *place, list []string) error {
	for _, key := range v.keys {
		if !slices.Contains(list, key) && !slices.Contains(annotations, key) {
			return fault(join(path, key), "a keyword that is not supported here", "none, or one that FromSchema names")
		}
	}
	return nil
}

// A place is a part of a schema, by the names that lead there.
type place struct {
	in   *place // nil of one that begins with its name
	name string
}

// join returns a place within another one.
func join(in *place, name string) *place { return &place{in, name} }

// pointer returns a JSON Pointer to the place, as in a URL.
func (p *place) pointer() string {
	var names []string
	for ; p.in != nil; p = p.in {
		names = append(names, url.PathEscape(strings.ReplaceAll(strings.ReplaceAll(p.name, "~", "~0"), "/", "~1")))
	}
	names = append(names, p.name)
	slices.Reverse(names)
	return strings.Join(names, "/")
}

// fault reports what is at a place.
func fault(at *place, got, want string) *SchemaError { return &SchemaError{at.pointer(), got, want} }

// short returns the JSON of a value for an error.
func short(v *value) string {
	if text := v.write(); len(text) <= 40 {
		return text
	}
	return "an " + v.kind + " of some length"
}

// types returns what the types of a schema take.
func (s *schema) types(v *value, path *place, depth int) (expr, error) {
	known := []string{"type"}
	for _, k := range kinds {
		known = append(known, k.keywords...)
	}
	if u := v.field("uniqueItems"); u.is("false") {
		known = append(known, "uniqueItems")
	}
	if err := only(v, path, known); err != nil {
		return nil, err
	}
	names, err := typesOf(v, path)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return s.any(), nil
	}
	var all choice
	for _, k := range kinds {
		if !slices.Contains(names, k.name) || k.name == "integer" && slices.Contains(names, "number") {
			continue
		}
		e, err := k.make(s, v, path, depth)
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

// typesOf returns the types that a schema names or that its keywords are about, or none for all.
func typesOf(v *value, path *place) (names []string, err error) {
	t := v.field("type")
	if t == nil {
		for _, k := range kinds {
			if slices.ContainsFunc(k.keywords, func(key string) bool { return v.field(key) != nil }) {
				names = append(names, k.name)
			}
		}
		return names, nil
	}
	list := []*value{t}
	if t.kind == "array" {
		list = t.list
	}
	for _, t := range list {
		if !slices.ContainsFunc(kinds, func(k kind) bool { return t.kind == "string" && k.name == t.text }) {
			return nil, fault(join(path, "type"), short(t), "null, boolean, integer, number, string, array or object")
		}
		names = append(names, t.text)
	}
	if len(names) == 0 {
		return nil, fault(join(path, "type"), "no type", "at least one")
	}
	return names, nil
}

// constants returns the values of const or enum, as far as they are of a type of the schema.
func (s *schema) constants(v *value, path *place, _ int) (expr, error) {
	list, err := constantsOf(v, path)
	if err != nil {
		return nil, err
	}
	var all choice
	for _, x := range list {
		all = append(all, literal(x.write()))
	}
	return all, nil
}

func constantsOf(v *value, path *place) ([]*value, error) {
	list := []*value{v.field("const")}
	if list[0] == nil {
		e := v.field("enum")
		if e.kind != "array" {
			return nil, fault(join(path, "enum"), short(e), "an array of values")
		}
		list = e.list
	}
	if v.field("type") != nil {
		names, err := typesOf(v, path)
		if err != nil {
			return nil, err
		}
		list = slices.DeleteFunc(slices.Clone(list), func(x *value) bool {
			_, err := strconv.ParseInt(x.text, 10, 64)
			return !slices.Contains(names, x.kind) && !(x.kind == "number" && err == nil && slices.Contains(names, "integer"))
		})
	}
	if len(list) == 0 {
		return nil, fault(path, "no constant of its type", "at least one")
	}
	return list, nil
}

// alternatives returns what each of several schemas takes.
func (s *schema) alternatives(v *value, path *place, keyword string, depth int) (choice, error) {
	list := v.field(keyword)
	if list.kind != "array" || len(list.list) == 0 {
		return nil, fault(join(path, keyword), short(list), "an array of schemas")
	}
	var all choice
	for i, x := range list.list {
		e, err := s.convert(x, join(join(path, keyword), strconv.Itoa(i)), depth+1)
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

func (s *schema) anyOf(v *value, path *place, depth int) (expr, error) {
	if v.field("oneOf") != nil || v.field("allOf") != nil {
		return nil, fault(path, "several of anyOf, oneOf and allOf", "one of them")
	}
	return s.alternatives(v, path, "anyOf", depth)
}

func (s *schema) oneOf(v *value, path *place, depth int) (expr, error) {
	all, err := s.alternatives(v, path, "oneOf", depth)
	if err != nil {
		return nil, err
	}
	list := v.field("oneOf").list
	if len(list) > mostNesting {
		return nil, &LimitError{"schemas of oneOf", mostNesting}
	}
	for i, a := range list {
		for j, b := range list[:i] {
			apart := s.apart(a, b, 0)
			if s.compared > mostCompared {
				return nil, &LimitError{"comparisons of schemas of oneOf", mostCompared}
			}
			if !apart {
				return nil, fault(join(path, "oneOf"), fmt.Sprintf("schemas %d and %d, which may take the same value", j, i), "schemas that differ in type, in a constant or in a required property; or anyOf")
			}
		}
	}
	return all, nil
}

func (s *schema) allOf(v *value, path *place, depth int) (expr, error) {
	all, err := s.alternatives(v, path, "allOf", depth)
	if err != nil {
		return nil, err
	}
	if len(all) > 1 {
		return nil, fault(join(path, "allOf"), fmt.Sprintf("%d schemas", len(all)), "one")
	}
	return all[0], nil
}

// reference returns what the schema that $ref names takes.
func (s *schema) reference(v *value, path *place, depth int) (expr, error) {
	r := v.field("$ref")
	if r.kind != "string" {
		return nil, fault(join(path, "$ref"), short(r), "a string")
	}
	to := s.resolve(r.text)
	if to == nil {
		return nil, fault(join(path, "$ref"), strconv.Quote(r.text), `"#" or a JSON Pointer to a part of this schema, such as "#/$defs/name"`)
	}
	return s.once(to, &place{name: r.text}, depth)
}

// once returns the rule of a part of the schema, which it makes the first time.
func (s *schema) once(v *value, path *place, depth int) (expr, error) {
	if r, ok := s.refs[v]; ok {
		return r, nil
	}
	r := s.add(path.pointer(), nil)
	s.refs[v] = r
	e, err := s.convert(v, path, depth+1)
	s.rules[r].is = e
	return r, err
}

// resolve returns the part that a pointer in a URL names, or nil.
func (s *schema) resolve(pointer string) *value {
	rest, ok := strings.CutPrefix(pointer, "#")
	if !ok || rest != "" && rest[0] != '/' {
		return nil
	}
	v := s.root
	for more := rest != ""; more; {
		var name string
		name, rest, more = strings.Cut(rest[1:], "/")
		if more {
			rest = pointer[len(pointer)-len(rest)-1:] // with its slash
		}
		name, err := url.PathUnescape(name)
		if err != nil {
			return nil
		}
		name = strings.ReplaceAll(strings.ReplaceAll(name, "~1", "/"), "~0", "~")
		if v.kind == "array" {
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(v.list) || strconv.Itoa(i) != name {
				return nil
			}
			v = v.list[i]
			continue
		}
		if v = v.field(name); v == nil {
			return nil
		}
	}
	return v
}
