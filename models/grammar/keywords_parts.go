package grammar

import (
	"maps"
	"slices"
	"strconv"

	"github.com/attn-go/attn/models/grammar/internal/regular"
)

// members takes properties, patternProperties and additionalProperties.
func (s *statement) members() ([]*shape, error) {
	rules, err := s.rulesOf()
	if err != nil {
		return nil, err
	}
	x := free(isObject)
	x.every = rules
	for _, r := range rules {
		if r.but {
			x.seenKeys.all = true
		}
		x.seenKeys = x.seenKeys.or(r.of)
	}
	return append(others(isObject), x), nil
}

// otherMembers returns objects with a member that is not as those keywords say.
func (s *statement) otherMembers() (all []*shape, err error) {
	rules, err := s.rulesOf()
	if err != nil {
		return nil, err
	}
	for _, r := range rules {
		x := free(isObject)
		if r.value == nil {
			continue
		}
		r.value = s.contrary(r.value)
		x.some = []keyRule{r}
		if len(r.of.names) == 1 && !r.but && len(r.of.in) == 0 {
			x.some, x.every, x.required = nil, []keyRule{r}, r.of.names
		}
		all = append(all, x)
	}
	return all, nil
}

// contrary returns all values that a schema does not take, nil for all.
func (s *statement) contrary(n *domain) *domain { return s.node(n.parts[0].schema, !n.parts[0].not) }

// rulesOf returns what those keywords say.
func (s *statement) rulesOf() (rules []keyRule, err error) {
	var known keySet
	if of := s.v.field("properties"); of != nil {
		if of.kind != "object" {
			return nil, fault(join(s.at, "properties"), short(of), "an object")
		}
		known.names = map[string]bool{}
		for _, key := range of.keys {
			known.names[key] = true
			rules = append(rules, keyRule{of: keySet{names: map[string]bool{key: true}}, value: s.node(of.fields[key], false)})
		}
	}
	if of := s.v.field("patternProperties"); of != nil {
		at := join(s.at, "patternProperties")
		if of.kind != "object" {
			return nil, fault(at, short(of), "an object")
		}
		for _, key := range of.keys {
			d, err := s.matches(key, join(at, key))
			if err != nil {
				return nil, err
			}
			known.in = append(known.in, d)
			rules = append(rules, keyRule{of: keySet{in: []*regular.Texts{d}}, value: s.node(of.fields[key], false)})
		}
	}
	if of := s.v.field("additionalProperties"); of != nil {
		rules = append(rules, keyRule{of: known, but: true, value: s.node(of, false)})
	}
	return rules, nil
}

// without returns objects that have none of some keys.
func (s *statement) without(names ...string) *shape {
	x := free(isObject)
	set := map[string]bool{}
	for _, name := range names {
		set[name] = true
	}
	x.every = []keyRule{{of: keySet{names: set}, value: s.never()}}
	return x
}

// names returns an array of strings.
func (s *statement) names(v *value, at *place) (list []string, err error) {
	if v.kind != "array" {
		return nil, fault(at, short(v), "an array of strings")
	}
	for i, name := range v.list {
		if name.kind != "string" {
			return nil, fault(join(at, strconv.Itoa(i)), short(name), "a string")
		}
		list = append(list, name.text)
	}
	return list, nil
}

func required(not bool) maker {
	return func(s *statement) ([]*shape, error) {
		names, err := s.names(s.v.field("required"), join(s.at, "required"))
		if err != nil {
			return nil, err
		}
		if not {
			return s.lacking(names), nil
		}
		return append(others(isObject), having(names)), nil
	}
}

// having returns objects with some keys.
func having(names []string) *shape {
	x := free(isObject)
	x.required = map[string]bool{}
	for _, name := range names {
		x.required[name] = true
	}
	return x
}

// lacking returns objects that lack any of some keys.
func (s *statement) lacking(names []string) (all []*shape) {
	for _, name := range names {
		all = append(all, s.without(name))
	}
	return all
}

func propertyNames(not bool) maker {
	return func(s *statement) ([]*shape, error) {
		list, err := s.sub(s.v.field("propertyNames"), false)
		if err != nil {
			return nil, err
		}
		bad := regular.All
		for _, x := range list {
			if x.kind == isString {
				bad = s.charge(bad.And(regular.All.And(x.texts).And(regular.Lengths(x.least, x.most)).Not()))
			}
		}
		x := free(isObject)
		of := keySet{in: []*regular.Texts{bad}}
		if not {
			x.some = []keyRule{{of: of}}
			return []*shape{x}, nil
		}
		x.every = []keyRule{{of: of, value: s.never()}}
		return append(others(isObject), x), nil
	}
}

// dependent takes dependentRequired, dependentSchemas and dependencies.
func dependent(not bool) maker {
	return func(s *statement) ([]*shape, error) {
		all := others()
		if not {
			all = nil
		}
		for _, keyword := range []string{"dependentRequired", "dependentSchemas", "dependencies"} {
			of := s.v.field(keyword)
			if of == nil {
				continue
			}
			at := join(s.at, keyword)
			if of.kind != "object" {
				return nil, fault(at, short(of), "an object")
			}
			for _, key := range of.keys {
				x, err := s.dependency(key, of.fields[key], join(at, key), not)
				if err != nil {
					return nil, err
				}
				if not {
					all = append(all, x...)
				} else {
					all = s.product(all, x)
				}
			}
		}
		return all, nil
	}
}

// dependency returns the values that lack a key or satisfy a schema or have other keys, or
// all others.
func (s *statement) dependency(key string, v *value, at *place, not bool) ([]*shape, error) {
	with := []*shape{having([]string{key})}
	var then []*shape
	if v.kind == "array" {
		names, err := s.names(v, at)
		if err != nil {
			return nil, err
		}
		if then = []*shape{having(names)}; not {
			then = s.lacking(names)
		}
	} else {
		var err error
		if then, err = s.sub(v, not); err != nil {
			return nil, err
		}
	}
	with = s.product(with, then)
	if not {
		return with, nil
	}
	return append(append(others(isObject), s.without(key)), with...), nil
}

// items takes items, prefixItems and additionalItems.
func items(not bool) maker {
	return func(s *statement) ([]*shape, error) {
		first, rest := s.v.field("prefixItems"), s.v.field("items")
		if rest != nil && rest.kind == "array" { // as earlier drafts have it
			if first != nil {
				return nil, fault(join(s.at, "items"), "an array beside prefixItems", "a schema")
			}
			first, rest = rest, s.v.field("additionalItems")
		}
		if first != nil && first.kind != "array" {
			return nil, fault(join(s.at, "prefixItems"), short(first), "an array of schemas")
		}
		x := free(isArray)
		if first != nil {
			for _, v := range first.list {
				x.prefix = append(x.prefix, s.node(v, false))
			}
		}
		x.seenItems = len(x.prefix)
		if rest != nil {
			x.rest, x.seenItems = s.node(rest, false), -1
		}
		if !not {
			return append(others(isArray), x), nil
		}
		var all []*shape
		for i, n := range x.prefix {
			if n != nil {
				y := free(isArray)
				y.prefix, y.least = append(make([]*domain, i), s.contrary(n)), i+1
				all = append(all, y)
			}
		}
		if x.rest != nil {
			y := free(isArray)
			y.counts = []counted{{yes: s.contrary(x.rest), least: 1, most: -1, from: len(x.prefix)}}
			all = append(all, y)
		}
		return all, nil
	}
}

// contains takes contains with minContains and maxContains.
func contains(not bool) maker {
	return func(s *statement) ([]*shape, error) {
		least, err := s.count("minContains", 1)
		if err != nil {
			return nil, err
		}
		most, err := s.count("maxContains", -1)
		if err != nil {
			return nil, err
		}
		v := s.v.field("contains")
		yes, no := s.node(v, false), s.node(v, true)
		number := func(least, most int) *shape {
			x := free(isArray)
			x.seenBy = []*domain{yes}
			x.counts = []counted{{yes: yes, least: least, most: most}}
			if most >= 0 {
				x.counts[0].no = no
			}
			return x
		}
		if !not {
			if most >= 0 && most < least {
				return others(isArray), nil
			}
			return append(others(isArray), number(least, most)), nil
		}
		var all []*shape
		if least > 0 {
			all = append(all, number(0, least-1))
		}
		if most >= 0 {
			all = append(all, number(most+1, -1))
		}
		return plain(all, nil)
	}
}

func (s *statement) uniqueItems() ([]*shape, error) {
	v := s.v.field("uniqueItems")
	if v.kind != "boolean" {
		return nil, fault(join(s.at, "uniqueItems"), short(v), "true or false")
	}
	x := free(isArray)
	x.unique = v.is("true")
	return append(others(isArray), x), nil
}

func (s *statement) repeatedItems() ([]*shape, error) {
	if s.v.field("uniqueItems").is("false") {
		return nil, nil
	}
	return nil, s.unsupported("uniqueItems")
}

// unevaluated takes unevaluatedProperties and unevaluatedItems, after all others.
func (s *statement) unevaluated(list []*shape) ([]*shape, error) {
	if s.old && s.v.field("$ref") != nil {
		return list, nil
	}
	if of := s.v.field("unevaluatedProperties"); of != nil {
		for i, x := range list {
			if x.kind == isObject {
				y := *x
				y.every = append(slices.Clip(x.every), keyRule{of: keySet{x.seenKeys.all, maps.Clone(x.seenKeys.names), x.seenKeys.in}, but: true, value: s.node(of, false)})
				y.seenKeys = keySet{all: true}
				list[i] = &y
			}
		}
	}
	if of := s.v.field("unevaluatedItems"); of != nil {
		for i, x := range list {
			if x.kind == isArray && x.seenItems >= 0 {
				if len(x.seenBy) > 0 {
					return nil, fault(join(s.at, "unevaluatedItems"), "a keyword beside contains", "one without it")
				}
				y := free(isArray)
				y.prefix, y.rest, y.seenItems = make([]*domain, x.seenItems), s.node(of, false), -1
				list[i] = s.meet(x, y)
			}
		}
	}
	return slices.DeleteFunc(list, func(x *shape) bool { return x == nil }), nil
}
