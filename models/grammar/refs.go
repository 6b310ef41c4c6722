package grammar

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/attn-go/attn/kernel"
)

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
func fault(at *place, got, want string) *kernel.Error { return schemaError(at.pointer(), got, want) }

// short returns the JSON of a value for an error.
func short(v *value) string {
	if text := v.write(); len(text) <= 40 {
		return text
	}
	return "an " + v.kind + " of some length"
}

// A site is where a value is in the schema.
type site struct {
	id       int
	at       *place
	resource string // the URL, without a fragment, of the part with an $id around it
}

// An index knows the values of a schema, by where they are and by their URLs.
type index struct {
	old       bool // a draft in which nothing counts beside $ref
	id        string
	sites     map[*value]*site
	resources map[string]*value
	anchors   map[string]*value // by URL with the fragment
	dynamic   map[string]int    // how many $dynamicAnchor have a name
	looksBack bool              // it has unevaluatedProperties or unevaluatedItems
}

// newIndex walks through a schema.
func newIndex(root *value) *index {
	x := &index{id: "$id", sites: map[*value]*site{}, resources: map[string]*value{"": root}, anchors: map[string]*value{}, dynamic: map[string]int{}}
	if s := root.field("$schema"); s != nil {
		x.old = strings.Contains(s.text, "/draft-0")
		if strings.Contains(s.text, "/draft-04/") {
			x.id = "id"
		}
	}
	x.walk(root, &place{name: "#"}, "", false)
	return x
}

// add adds a value, of whose parts nothing is known.
func (x *index) add(v *value, at *place, resource string) {
	if x.sites[v] == nil {
		x.sites[v] = &site{len(x.sites), at, resource}
	}
}

// named are keywords whose members are schemas with any names.
var named = []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"}

// walk adds a value and its parts. names says that the keys of its members are no keywords.
func (x *index) walk(v *value, at *place, resource string, names bool) {
	x.add(v, at, resource)
	if !names {
		resource = x.identify(v, resource)
		x.sites[v].resource = resource
	}
	for i, item := range v.list {
		x.walk(item, join(at, strconv.Itoa(i)), resource, false)
	}
	for _, key := range v.keys {
		of := v.fields[key]
		switch {
		case !names && (key == "const" || key == "enum"): // no schemas
			x.add(of, join(at, key), resource)
		default:
			x.looksBack = x.looksBack || !names && (key == "unevaluatedProperties" || key == "unevaluatedItems")
			x.walk(of, join(at, key), resource, !names && slices.Contains(named, key))
		}
	}
}

// identify takes the names that a schema gives to itself, and returns the resource that it
// is in.
func (x *index) identify(v *value, resource string) string {
	if id := v.field(x.id); id != nil && id.kind == "string" && !(x.old && v.field("$ref") != nil) {
		to, fragment := x.locate(id.text, resource)
		if fragment != "" {
			x.anchors[to+"#"+fragment] = v
		}
		if !strings.HasPrefix(id.text, "#") {
			resource = to
			x.resources[to] = v
		}
	}
	for _, key := range []string{"$anchor", "$dynamicAnchor"} {
		if name := v.field(key); name != nil && name.kind == "string" {
			x.anchors[resource+"#"+name.text] = v
			if key == "$dynamicAnchor" {
				x.dynamic[name.text]++
			}
		}
	}
	return resource
}

// locate returns the URL that a reference in a resource names, and its fragment.
func (x *index) locate(reference, resource string) (to, fragment string) {
	reference, fragment, _ = strings.Cut(reference, "#")
	if text, err := url.PathUnescape(fragment); err == nil && !strings.HasPrefix(fragment, "/") {
		fragment = text
	}
	if reference == "" {
		return resource, fragment
	}
	base, err1 := url.Parse(resource)
	u, err2 := url.Parse(reference)
	if err1 != nil || err2 != nil {
		return reference, fragment
	}
	return base.ResolveReference(u).String(), fragment
}

// resolve returns the part that a reference in a resource names, nil if it is none of this
// schema.
func (x *index) resolve(reference, resource string) *value {
	to, fragment := x.locate(reference, resource)
	root := x.resources[to]
	switch {
	case root == nil || fragment == "":
		return root
	case fragment[0] != '/':
		return x.anchors[to+"#"+fragment]
	}
	return follow(root, fragment)
}

// follow returns the part that a pointer in a URL names, or nil.
func follow(v *value, pointer string) *value {
	for name := range strings.SplitSeq(pointer[1:], "/") {
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
