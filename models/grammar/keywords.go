package grammar

import (
	"math/big"
	"slices"
	"strconv"

	"github.com/attn-go/attn/models/grammar/internal/regular"
)

// A keyword, or several that say something together.
type keyword struct {
	names []string
	yes   func(s *statement) ([]*shape, error) // the values that satisfy it
	no    func(s *statement) ([]*shape, error) // all others
}

// keywords are all that say something of values, but for unevaluatedProperties and
// unevaluatedItems.
var keywords []keyword

// Set in init to break the initialization cycle.
func init() {
	keywords = []keyword{
		{[]string{"$ref"}, reference("$ref", false), reference("$ref", true)},
		{[]string{"$dynamicRef"}, reference("$dynamicRef", false), reference("$dynamicRef", true)},
		{[]string{"$recursiveRef"}, refused("$recursiveRef"), refused("$recursiveRef")},
		{[]string{"type"}, typed(false), typed(true)},
		{[]string{"const"}, constant("const", false), constant("const", true)},
		{[]string{"enum"}, constant("enum", false), constant("enum", true)},
		{[]string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}, bounded(false), bounded(true)},
		{[]string{"multipleOf"}, multipleOf(false), multipleOf(true)},
		{[]string{"minLength", "maxLength"}, sized("minLength", "maxLength", isString, false), sized("minLength", "maxLength", isString, true)},
		{[]string{"minItems", "maxItems"}, sized("minItems", "maxItems", isArray, false), sized("minItems", "maxItems", isArray, true)},
		{[]string{"minProperties", "maxProperties"}, sized("minProperties", "maxProperties", isObject, false), sized("minProperties", "maxProperties", isObject, true)},
		{[]string{"pattern"}, pattern(false), pattern(true)},
		{[]string{"format"}, formatted(false), formatted(true)},
		{[]string{"properties", "patternProperties", "additionalProperties"}, (*statement).members, (*statement).otherMembers},
		{[]string{"required"}, required(false), required(true)},
		{[]string{"propertyNames"}, propertyNames(false), propertyNames(true)},
		{[]string{"dependentRequired", "dependentSchemas", "dependencies"}, dependent(false), dependent(true)},
		{[]string{"items", "prefixItems", "additionalItems"}, items(false), items(true)},
		{[]string{"contains"}, contains(false), contains(true)},
		{[]string{"uniqueItems"}, (*statement).uniqueItems, (*statement).repeatedItems},
		{[]string{"allOf"}, several("allOf", (*statement).all), several("allOf", (*statement).notAll)},
		{[]string{"anyOf"}, several("anyOf", (*statement).any), several("anyOf", (*statement).none)},
		{[]string{"oneOf"}, several("oneOf", (*statement).one), several("oneOf", (*statement).notOne)},
		{[]string{"not"}, within("not", true), within("not", false)},
		{[]string{"if"}, conditional(false), conditional(true)},
	}
}

type maker = func(s *statement) ([]*shape, error)

// refused reports a keyword that is not supported.
func refused(key string) maker {
	return func(s *statement) ([]*shape, error) {
		return nil, fault(join(s.at, key), "a keyword that is not supported", "$ref")
	}
}

// sub returns the values of a schema that is a keyword's value, or all others.
func (s *statement) sub(v *value, not bool) ([]*shape, error) { return s.shapesOf(part{v, not}) }

// never is the node without values.
func (s *statement) never() *domain { return s.node(noValue, false) }

var noValue = &value{kind: "boolean", text: "false"}

// within returns the values of the schema that a keyword has, or all others.
func within(key string, not bool) maker {
	return func(s *statement) ([]*shape, error) { return plain(s.sub(s.v.field(key), not)) }
}

// plain returns shapes of which it is not known what keywords have looked at.
func plain(list []*shape, err error) ([]*shape, error) {
	out := make([]*shape, len(list))
	for i, x := range list {
		s := *x
		s.seenKeys, s.seenItems, s.seenBy, s.plan = keySet{}, 0, nil, nil
		out[i] = &s
	}
	return out, err
}

func reference(key string, not bool) maker {
	return func(s *statement) ([]*shape, error) {
		r := s.v.field(key)
		if r.kind != "string" {
			return nil, fault(join(s.at, key), short(r), "a string")
		}
		resource := s.sites[s.v].resource
		to := s.resolve(r.text, resource)
		if to == nil {
			return nil, fault(join(s.at, key), strconv.Quote(r.text), `a part of this schema, such as "#" or "#/$defs/name"`)
		}
		if key == "$dynamicRef" {
			if name := to.field("$dynamicAnchor"); name != nil && s.dynamic[name.text] > 1 {
				return nil, fault(join(s.at, key), "one of several that $dynamicAnchor names "+short(name), "the only one")
			}
		}
		return s.sub(to, not)
	}
}

// typed takes type.
func typed(not bool) maker {
	return func(s *statement) ([]*shape, error) {
		t := s.v.field("type")
		list := []*value{t}
		if t.kind == "array" {
			list = t.list
		}
		var kinds []kind
		var names []string
		for _, t := range list {
			of, ok := typeKinds[t.text]
			if t.kind != "string" || !ok {
				return nil, fault(join(s.at, "type"), short(t), "null, boolean, integer, number, string, array or object")
			}
			kinds, names = append(kinds, of...), append(names, t.text)
		}
		if len(names) == 0 {
			return nil, fault(join(s.at, "type"), "no type", "at least one")
		}
		integers := slices.Contains(names, "integer") && !slices.Contains(names, "number")
		var all []*shape
		for k := isNull; k <= isObject; k++ {
			x := free(k)
			switch in := slices.Contains(kinds, k); {
			case k == isNumber && integers && not:
				x.numbers.broken = true
			case in == not:
				continue
			case k == isNumber && integers:
				x.numbers.whole = true
			}
			all = append(all, x)
		}
		return all, nil
	}
}

// constant takes const and enum.
func constant(key string, not bool) maker {
	return func(s *statement) ([]*shape, error) {
		list := []*value{s.v.field(key)}
		if key == "enum" {
			if list[0].kind != "array" {
				return nil, fault(join(s.at, key), short(list[0]), "an array of values")
			}
			list = list[0].list
		}
		if not {
			return s.unlike(list)
		}
		return s.like(list)
	}
}

// like returns some values.
func (s *statement) like(list []*value) (all []*shape, err error) {
	var texts []string
	numbers := free(isNumber)
	seen := map[string]bool{}
	for _, v := range list {
		switch v.kind {
		case "string":
			texts = append(texts, v.text)
		case "number":
			if !seen[v.key()] {
				seen[v.key()] = true
				numbers.numbers.only = append(numbers.numbers.only, v)
			}
		case "array", "object":
			x, err := s.sub(s.constantSchema(v), false)
			if err != nil {
				return nil, err
			}
			all = append(all, x...)
		default:
			k := free(map[string]kind{"null": isNull, "true": isTrue, "false": isFalse}[v.text])
			if !seen[v.text] {
				seen[v.text] = true
				all = append(all, k)
			}
		}
	}
	if len(texts) > 0 {
		x := free(isString)
		x.texts = s.charge(regular.Words(texts))
		all = append(all, x)
	}
	if numbers.numbers.only != nil {
		all = append(all, numbers)
	}
	return plain(all, nil)
}

// unlike returns all values but some.
func (s *statement) unlike(list []*value) ([]*shape, error) {
	except := map[string]bool{}
	all := others()
	all[isNumber].numbers.except = except
	var texts []string
	for _, v := range list {
		switch v.kind {
		case "string":
			texts = append(texts, v.text)
		case "number":
			except[v.key()] = true
		case "array", "object":
			x, err := s.sub(s.constantSchema(v), true)
			if err != nil {
				return nil, err
			}
			all = s.product(all, x)
		default:
			k := map[string]kind{"null": isNull, "true": isTrue, "false": isFalse}[v.text]
			all = slices.DeleteFunc(all, func(x *shape) bool { return x.kind == k })
		}
	}
	if len(texts) > 0 {
		without := free(isString)
		without.texts = s.charge(regular.Words(texts).Not())
		all = s.product(all, append(others(isString), without))
	}
	return all, nil
}

// constantSchema returns a schema without const and enum of an array or an object.
func (s *statement) constantSchema(v *value) *value {
	if of := s.constants[v]; of != nil {
		return of
	}
	at := s.sites[s.v]
	list := func(kind string, items ...*value) *value {
		x := &value{kind: kind, list: items}
		s.add(x, at.at, at.resource)
		return x
	}
	object := func(pairs ...any) *value {
		x := list("object")
		x.fields = map[string]*value{}
		for i := 0; i < len(pairs); i += 2 {
			x.keys = append(x.keys, pairs[i].(string))
			x.fields[pairs[i].(string)] = pairs[i+1].(*value)
		}
		return x
	}
	text := func(kind, text string) *value {
		x := list(kind)
		x.text = text
		return x
	}
	var of *value
	if v.kind == "array" {
		var prefix []*value
		for _, item := range v.list {
			prefix = append(prefix, object("const", item))
		}
		n := text("number", strconv.Itoa(len(v.list)))
		of = object("type", text("string", "array"), "prefixItems", list("array", prefix...), "minItems", n, "maxItems", n)
	} else {
		members := object()
		var names []*value
		for _, key := range v.keys {
			members.keys = append(members.keys, key)
			members.fields[key] = object("const", v.fields[key])
			names = append(names, text("string", key))
		}
		of = object("type", text("string", "object"), "properties", members, "required", list("array", names...), "additionalProperties", text("boolean", "false"))
	}
	s.constants[v] = of
	return of
}

// number returns a keyword that is a number.
func (s *statement) number(key string) (*big.Rat, error) {
	v := s.v.field(key)
	if v.kind != "number" {
		return nil, fault(join(s.at, key), short(v), "a number")
	}
	return v.rational(), nil
}

// bounded takes minimum, maximum and so on.
func bounded(not bool) maker {
	return func(s *statement) ([]*shape, error) {
		var list []regular.Bound
		for _, row := range []struct {
			key, exclusive string
			allowed        [3]bool
		}{{"minimum", "exclusiveMinimum", [3]bool{false, true, true}}, {"maximum", "exclusiveMaximum", [3]bool{true, true, false}}} {
			allowed := row.allowed
			if x := s.v.field(row.exclusive); x != nil && x.kind == "boolean" { // as draft 4 has it
				allowed[1] = x.is("false")
			} else if x != nil {
				n, err := s.number(row.exclusive)
				if err != nil {
					return nil, err
				}
				list = append(list, regular.Bound{With: n, Allowed: [3]bool{row.allowed[0], false, row.allowed[2]}})
			}
			if s.v.field(row.key) != nil {
				n, err := s.number(row.key)
				if err != nil {
					return nil, err
				}
				list = append(list, regular.Bound{With: n, Allowed: allowed})
			}
		}
		if not {
			var all []*shape
			for _, b := range list {
				x := free(isNumber)
				x.numbers.bounds = []regular.Bound{{With: b.With, Allowed: [3]bool{!b.Allowed[0], !b.Allowed[1], !b.Allowed[2]}}}
				all = append(all, x)
			}
			return all, nil
		}
		x := free(isNumber)
		x.numbers.bounds = list
		return append(others(isNumber), x), nil
	}
}

func multipleOf(not bool) maker {
	return func(s *statement) ([]*shape, error) {
		n, err := s.number("multipleOf")
		if err != nil {
			return nil, err
		}
		if n.Sign() <= 0 {
			return nil, fault(join(s.at, "multipleOf"), short(s.v.field("multipleOf")), "a number above 0")
		}
		x := free(isNumber)
		if not {
			x.numbers.notOf = []*big.Rat{n}
			return []*shape{x}, nil
		}
		x.numbers.of = []*big.Rat{n}
		return append(others(isNumber), x), nil
	}
}

// count returns a keyword that is a number from 0, or what it is if it is missing.
func (s *statement) count(key string, missing int) (int, error) {
	v := s.v.field(key)
	if v == nil {
		return missing, nil
	}
	if v.kind != "number" || !v.rational().IsInt() || v.rational().Sign() < 0 {
		return 0, fault(join(s.at, key), short(v), "an integer from 0")
	}
	n := v.rational().Num()
	if !n.IsInt64() || n.Int64() > 1<<31-2 {
		return 1<<31 - 2, nil // more than any text has
	}
	return int(n.Int64()), nil
}

// sized takes the least and the most of what a kind has.
func sized(least, most string, k kind, not bool) maker {
	return func(s *statement) ([]*shape, error) {
		lo, err := s.count(least, 0)
		if err != nil {
			return nil, err
		}
		hi, err := s.count(most, -1)
		if err != nil {
			return nil, err
		}
		x := free(k)
		if !not {
			if x.least, x.most = lo, hi; hi >= 0 && hi < lo {
				return others(k), nil
			}
			return append(others(k), x), nil
		}
		var all []*shape
		if lo > 0 {
			x.most = lo - 1
			all = append(all, x)
		}
		if hi >= 0 {
			x := free(k)
			x.least = hi + 1
			all = append(all, x)
		}
		return all, nil
	}
}

// stringsOf returns strings of texts with values of other kinds, or all other strings.
func stringsOf(d *regular.Texts, not bool) []*shape {
	x := free(isString)
	if x.texts = d; not {
		x.texts = d.Not()
		return []*shape{x}
	}
	return append(others(isString), x)
}

func pattern(not bool) maker {
	return func(s *statement) ([]*shape, error) {
		d, err := s.expression(s.v.field("pattern"), join(s.at, "pattern"))
		if err != nil {
			return nil, err
		}
		return stringsOf(d, not), nil
	}
}

// expression returns the texts that a regular expression matches.
func (s *statement) expression(v *value, at *place) (*regular.Texts, error) {
	if v.kind != "string" {
		return nil, fault(at, short(v), "a string")
	}
	return s.matches(v.text, at)
}

func (s *statement) matches(text string, at *place) (*regular.Texts, error) {
	if d := s.patterns[text]; d != nil {
		return d, nil
	}
	d, err := regular.Matching(text)
	if err != nil {
		err = fault(at, err.Error(), "a regular expression of ECMA-262 that package grammar takes")
	}
	s.patterns[text] = s.charge(d)
	return d, err
}

func formatted(not bool) maker {
	return func(s *statement) ([]*shape, error) {
		v := s.v.field("format")
		if v.kind != "string" {
			return nil, fault(join(s.at, "format"), short(v), "a string")
		}
		if bits := integerFormats[v.text]; bits != 0 {
			x := free(isNumber)
			limit := new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), bits-1))
			low, high := regular.Bound{With: new(big.Rat).Neg(limit), Allowed: [3]bool{false, true, true}}, regular.Bound{With: limit, Allowed: [3]bool{true, false, false}}
			x.numbers.bounds = []regular.Bound{low, high}
			if !not {
				return append(others(isNumber), x), nil
			}
			y := free(isNumber)
			x.numbers.bounds, y.numbers.bounds = []regular.Bound{{With: low.With, Allowed: [3]bool{true, false, false}}}, []regular.Bound{{With: limit, Allowed: [3]bool{false, true, true}}}
			return []*shape{x, y}, nil
		}
		if slices.Contains(regular.Unchecked, v.text) {
			return nil, fault(join(s.at, "format"), short(v), "a format that package grammar can check, or one that is none of the standard's")
		}
		d, err := regular.Format(v.text, not)
		switch {
		case err != nil:
			return nil, err
		case d == nil && not:
			return nil, nil
		case d == nil:
			return others(), nil
		}
		return stringsOf(d, not), nil
	}
}

// integerFormats are OpenAPI's, with their bits.
var integerFormats = map[string]uint{"int32": 32, "int64": 64}
