package grammar

import "slices"

// mostCompared is the most pairs of schemas that are compared, with their keys and constants.
const mostCompared = 1 << 20

// apart tells whether it is clear that no text of either schema satisfies the other. It looks at
// types, constants, and required properties.
func (s *schema) apart(a, b *value, depth int) bool {
	a, b = s.target(a), s.target(b)
	if s.compared += 1 + size(a) + size(b); s.compared > mostCompared {
		return false
	}
	if a == nil || b == nil || depth > 8 || a.kind != "object" || b.kind != "object" {
		return false
	}
	ka, kb := kindsOf(a), kindsOf(b)
	if ka == nil || kb == nil {
		return false
	}
	if !slices.ContainsFunc(ka, func(k string) bool { return slices.Contains(kb, k) }) {
		return true
	}
	if ca, cb := fixed(a), fixed(b); ca != nil && cb != nil {
		return !share(ca, cb)
	}
	if len(ka) != 1 || ka[0] != "object" || len(kb) != 1 || fixed(a) != nil || fixed(b) != nil {
		return false
	}
	return s.tellApart(a, b, depth) || lacks(a, b) && lacks(b, a)
}

// size returns how many keys and constants of a schema there are to compare.
func size(v *value) (n int) {
	for _, key := range []string{"enum", "properties", "required"} {
		if v != nil && v.field(key) != nil {
			n += len(v.field(key).list) + len(v.field(key).keys)
		}
	}
	return n
}

// target follows references.
func (s *schema) target(v *value) *value {
	to, known := s.targets[v]
	if known {
		return to
	}
	to = v
	for range mostNesting {
		if to == nil || to.field("$ref") == nil {
			s.targets[v] = to
			return to
		}
		to = s.resolve(to.field("$ref").text)
	}
	s.targets[v] = nil
	return nil
}

// share tells whether a value of a may be one of b to a validator.
func share(a, b []*value) bool {
	seen := map[identity]bool{}
	for _, x := range a {
		seen[x.identity()] = true
	}
	return slices.ContainsFunc(b, func(x *value) bool { return seen[x.identity()] })
}

// kindsOf returns the types of the values of a schema, nil if they are not clear. Integers are
// numbers.
func kindsOf(v *value) (names []string) {
	if list := fixed(v); list != nil {
		for _, x := range list {
			names = append(names, x.kind)
		}
		return names
	}
	for _, form := range forms {
		if v.field(form.keyword) != nil {
			return nil
		}
	}
	if v.field("type") == nil {
		return nil // keywords say nothing of values of other types
	}
	names, err := typesOf(v, &place{})
	if err != nil {
		return nil
	}
	for i, name := range names {
		if name == "integer" {
			names[i] = "number"
		}
	}
	return names
}

// fixed returns the constants of a schema, nil if it has none.
func fixed(v *value) []*value {
	if v.field("const") == nil && v.field("enum") == nil {
		return nil
	}
	list, err := constantsOf(v, &place{})
	if err != nil {
		return nil
	}
	return list
}

// tellApart tells whether a property that one of two objects must have is of schemas that are apart.
func (s *schema) tellApart(a, b *value, depth int) bool {
	pa, pb := a.field("properties"), b.field("properties")
	if pa == nil || pb == nil {
		return false
	}
	for _, key := range pa.keys {
		if pb.field(key) != nil && (requires(a, key) || requires(b, key)) && s.apart(pa.fields[key], pb.fields[key], depth+1) {
			return true
		}
	}
	return false
}

// lacks tells whether texts of a never have a property that b requires.
func lacks(a, b *value) bool {
	more := a.field("additionalProperties")
	required := b.field("required")
	if more != nil && !more.is("false") || required == nil {
		return false
	}
	return slices.ContainsFunc(required.list, func(key *value) bool {
		return key.kind == "string" && !requires(a, key.text) && (a.field("properties") == nil || a.field("properties").field(key.text) == nil)
	})
}

// requires tells whether an object must have a property.
func requires(v *value, key string) bool {
	list := v.field("required")
	return list != nil && list.has(key)
}
