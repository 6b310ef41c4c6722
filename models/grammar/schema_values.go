package grammar

import (
	"fmt"
	"slices"
	"strconv"
)

// rule returns a rule of every schema, which it makes the first time.
func (s *schema) rule(name string, makeIt func() expr) ref {
	r, ok := s.common[name]
	if !ok {
		r = s.add(name, nil)
		s.common[name] = r
		s.rules[r].is = makeIt()
	}
	return r
}

// space is what may be between the parts of arrays and objects.
func (s *schema) space() expr {
	return s.rule("space", func() expr {
		return choice{literal(""), literal(" "), sequence{repeat{literal("\n"), 1, 2}, repeat{chars(" \t"), 0, 20}}}
	})
}

// comma is what separates them.
func (s *schema) comma() expr {
	return s.rule("comma", func() expr { return sequence{s.space(), literal(","), s.space()} })
}

// any is any value.
func (s *schema) any() expr {
	return s.rule("value", func() expr {
		v := &value{kind: "object", fields: map[string]*value{"additionalProperties": {kind: "boolean", text: "true"}}}
		var all choice
		for _, k := range kinds {
			if k.name != "integer" {
				e, err := k.make(s, v, &place{}, 0)
				if err != nil {
					panic(err) // there is none without keywords
				}
				all = append(all, e)
			}
		}
		return all
	})
}

// count returns a keyword that is a number from 0, or what it is if it is missing.
func count(v *value, path *place, keyword string, missing int) (int, error) {
	x := v.field(keyword)
	if x == nil {
		return missing, nil
	}
	n, err := strconv.Atoi(x.text)
	if x.kind != "number" || err != nil || n < 0 {
		return 0, fault(join(path, keyword), short(x), "an integer from 0")
	}
	if n > mostPositions {
		return 0, &LimitError{keyword, mostPositions}
	}
	return n, nil
}

// array returns what an array of items takes.
func (s *schema) array(v *value, path *place, depth int) (expr, error) {
	least, err := count(v, path, "minItems", 0)
	if err != nil {
		return nil, err
	}
	most, err := count(v, path, "maxItems", -1)
	if err != nil {
		return nil, err
	}
	if most >= 0 && most < least {
		return nil, fault(path, "maxItems below minItems", "an array that can be")
	}
	if v.field("prefixItems") != nil {
		return s.tuple(v, path, depth, least, most)
	}
	item := s.any()
	if items := v.field("items"); items.is("false") {
		most = 0
		if least > 0 {
			return nil, fault(join(path, "items"), "false", "a schema, as there is at least one item")
		}
	} else if items != nil {
		e, err := s.convert(items, join(path, "items"), depth+1)
		if err != nil {
			return nil, err
		}
		item = s.add("item", e)
	}
	if most == 0 {
		return sequence{literal("["), s.space(), literal("]")}, nil
	}
	more := repeat{sequence{s.comma(), item}, max(0, least-1), most - 1}
	if most < 0 {
		more.max = -1
	}
	var body expr = sequence{item, more, s.space()}
	if least == 0 {
		body = optional(body)
	}
	return sequence{literal("["), s.space(), body, literal("]")}, nil
}

// tuple returns what an array of prefixItems takes.
func (s *schema) tuple(v *value, path *place, depth, least, most int) (expr, error) {
	list := v.field("prefixItems")
	if n := len(list.list); n == 0 || least > n || most >= 0 && most < n {
		return nil, fault(join(path, "prefixItems"), fmt.Sprintf("%d schemas", n), "as many as minItems and maxItems allow, and at least one")
	}
	all := sequence{literal("["), s.space()}
	for i, x := range list.list {
		if i > 0 {
			all = append(all, s.comma())
		}
		e, err := s.convert(x, join(join(path, "prefixItems"), strconv.Itoa(i)), depth+1)
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return append(all, s.space(), literal("]")), nil
}

// A property is a member that an object may have.
type property struct {
	pair     expr // its key and its value
	required bool
}

// object returns what an object of properties takes.
func (s *schema) object(v *value, path *place, depth int) (expr, error) {
	list, names, err := s.properties(v, path, depth)
	if err != nil {
		return nil, err
	}
	more, err := s.additional(v, path, depth, names)
	if err != nil {
		return nil, err
	}
	// after is what may follow the properties from i on if there is one before them, and first if there is
	// none.
	after, first := expr(literal("")), expr(literal(""))
	if more != nil {
		after = s.add("further properties", repeat{sequence{s.comma(), more}, 0, -1})
		first = s.add("further properties", optional(sequence{more, after, s.space()}))
	}
	for _, p := range slices.Backward(list) {
		begins := sequence{p.pair, after, s.space()}
		var follows expr = sequence{s.comma(), p.pair}
		if !p.required {
			first, follows = choice{begins, first}, optional(follows)
		} else {
			first = begins
		}
		after, first = s.add("properties", sequence{follows, after}), s.add("properties", first)
	}
	return sequence{literal("{"), s.space(), first, literal("}")}, nil
}

// properties returns those that a schema names.
func (s *schema) properties(v *value, path *place, depth int) (list []property, names []string, err error) {
	of, required := v.field("properties"), v.field("required")
	if of == nil {
		of = &value{kind: "object"}
	}
	if of.kind != "object" {
		return nil, nil, fault(join(path, "properties"), short(of), "an object")
	}
	add := func(key string, e expr) {
		pair := sequence{literal(quote(key)), s.space(), literal(":"), s.space(), e}
		list = append(list, property{s.add("property", pair), requires(v, key)})
		names = append(names, key)
	}
	for _, key := range of.keys {
		e, err := s.convert(of.fields[key], join(join(path, "properties"), key), depth+1)
		if err != nil {
			return nil, nil, err
		}
		add(key, e)
	}
	if required == nil {
		return list, names, nil
	}
	if required.kind != "array" {
		return nil, nil, fault(join(path, "required"), short(required), "an array of strings")
	}
	others := v.field("additionalProperties")
	if others == nil {
		others = &value{kind: "boolean", text: "true"}
	}
	seen := map[string]bool{} // keys that are not of properties
	for i, key := range required.list {
		at := join(join(path, "required"), strconv.Itoa(i))
		switch {
		case key.kind != "string":
			return nil, nil, fault(at, short(key), "a string")
		case of.field(key.text) != nil:
		case others.is("false") || seen[key.text]:
			return nil, nil, fault(at, short(key), "a key of properties, and each once")
		default:
			e, err := s.once(others, join(path, "additionalProperties"), depth)
			if err != nil {
				return nil, nil, err
			}
			add(key.text, e)
			seen[key.text] = true
		}
	}
	return list, names, nil
}

// additional returns a key and a value of additionalProperties, nil if there are none.
func (s *schema) additional(v *value, path *place, depth int, names []string) (expr, error) {
	of := v.field("additionalProperties")
	if of == nil || of.is("false") {
		return nil, nil
	}
	e, err := s.once(of, join(path, "additionalProperties"), depth)
	if err != nil {
		return nil, err
	}
	key, err := s.otherKey(names)
	if err != nil {
		return nil, err
	}
	return s.add("further property", sequence{literal(`"`), key, literal(`"`), s.space(), literal(":"), s.space(), e}), nil
}

// mostNamed is the most bytes of names of which keys must differ: each becomes some positions.
const mostNamed = 1 << 13

// otherKey returns the inside of a string that is none of some names, without escapes.
func (s *schema) otherKey(names []string) (expr, error) {
	rest := repeat{plainChar, 0, -1}
	if len(names) == 0 {
		return rest, nil
	}
	root := &nameNode{}
	for _, name := range names {
		if s.named += len(name); s.named > mostNamed {
			return nil, &LimitError{"bytes of properties beside additionalProperties", mostNamed}
		}
		root.add([]rune(name))
	}
	return root.others(rest), nil
}

// nameNode is a node of a trie of names.
type nameNode struct {
	end   bool
	order []rune
	next  map[rune]*nameNode
}

func (n *nameNode) add(name []rune) {
	if len(name) == 0 {
		n.end = true
		return
	}
	if n.next == nil {
		n.next = map[rune]*nameNode{}
	}
	if n.next[name[0]] == nil {
		n.next[name[0]] = &nameNode{}
		n.order = append(n.order, name[0])
	}
	n.next[name[0]].add(name[1:])
}

// others returns what is below the node and no name.
func (n *nameNode) others(rest expr) expr {
	var all choice
	if !n.end {
		all = append(all, literal(""))
	}
	all = append(all, sequence{plainChar.and(chars(string(n.order)).not()), rest})
	for _, r := range n.order {
		all = append(all, sequence{plainChar.and(chars(string(r))), n.next[r].others(rest)})
	}
	return all
}
