package grammar

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
)

func fromSchema(t testing.TB, schema string) *Grammar {
	t.Helper()
	g, err := FromSchema([]byte(schema))
	if err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	return g
}

// TestSchemaTexts: the grammar has the texts that it should. A validator of others agrees in
// bench/peers/jsonschema, where it says of random texts, too, whether they satisfy their schema.
func TestSchemaTexts(t *testing.T) {
	check := func(schema, text string, want bool) {
		if got := match(t, fromSchema(t, schema), text); got != want {
			t.Errorf("%s has %s: %v", schema, text, got)
		}
	}
	for _, x := range schemas {
		schema := string(x.Schema)
		for _, text := range x.Yes {
			check(schema, string(text), true)
		}
		for _, text := range x.No {
			check(schema, string(text), false)
		}
		for _, text := range x.Never {
			check(schema, text, false)
		}
	}
}

// jsonTokens are all bytes, and some tokens as vocabularies have them.
func jsonTokens() *Vocabulary {
	var list [][]byte
	for b := range 256 {
		list = append(list, []byte{byte(b)})
	}
	for _, t := range []string{`{"`, `":`, `",`, `"},`, `": "`, `null`, `true`, `tru`, ` "`, `\u`, "é", "\xf0\x9f", `[]`, `{}`, `12`, `-1`, `kind`, `value`, `ab`, `]]`, `}}`} {
		list = append(list, []byte(t))
	}
	return NewVocabulary(list)
}

// What is not supported, or wrong, is an error that says where.
func TestSchemaErrors(t *testing.T) {
	for schema, want := range map[string]string{
		``:                     "schema #: EOF",
		`1`:                    "schema #: 1, want an object, true or false",
		`false`:                "schema #: a schema that no value satisfies",
		`{} {}`:                "more than one value",
		`{"a":1,"a":2}`:        `key "a" twice`,
		`{"const":1e999}`:      "the number 1e999, which is beyond float64",
		`{"const":1e-9999999}`: "number 1e-9999999",
		`{"type":"float"}`:     `schema #/type: "float"`,
		`{"type":[]}`:          "schema #/type: no type",
		`{"properties":{"a/b":{"not":{"uniqueItems":true}}}}`:                                                 "schema #/properties/a~1b/not/uniqueItems: a keyword below not",
		`{"not":{"unevaluatedProperties":false}}`:                                                             "schema #/not/unevaluatedProperties: a keyword below not",
		`{"type":"integer","minimum":1,"maximum":0}`:                                                          "schema #: a schema that no value satisfies",
		`{"required":["a"],"type":"object","properties":{"a":{"type":"string","minLength":3,"maxLength":2}}}`: "schema #/properties/a: a schema that no value",
		`{"type":"integer","minimum":"1"}`:                                                                    `schema #/minimum: "1", want a number`,
		`{"multipleOf":0}`:                                                                                    "schema #/multipleOf: 0",
		`{"multipleOf":1234567}`:                                                                              "remainders of multipleOf",
		`{"type":"string","minLength":-1}`:                                                                    "schema #/minLength: -1",
		`{"type":"string","minLength":1.5}`:                                                                   "schema #/minLength: 1.5",
		`{"type":"string","maxLength":999999,"pattern":"a"}`:                                                  "more than 65536 characters",
		`{"type":"string","format":"idn-email"}`:                                                              `schema #/format: "idn-email"`,
		`{"type":"string","pattern":"("}`:                                                                     "schema #/pattern: error parsing regexp",
		`{"type":"string","pattern":"a{,3}"}`:                                                                 "schema #/pattern: {,",
		`{"type":"string","pattern":"(a)\\1"}`:                                                                "schema #/pattern: \\1",
		`{"type":"string","pattern":"a(?=b)"}`:                                                                "schema #/pattern: looking ahead",
		`{"type":"string","pattern":"^(?!a)b|c"}`:                                                             "schema #/pattern: looking ahead",
		`{"type":"object","patternProperties":{"(":true}}`:                                                    "schema #/patternProperties/%28: error parsing",
		`{"type":"array","prefixItems":1}`:                                                                    "schema #/prefixItems: 1",
		`{"enum":[]}`:                                                                                         "a schema that no value satisfies",
		`{"enum":1}`:                                                                                          "schema #/enum: 1",
		`{"anyOf":[]}`:                                                                                        "schema #/anyOf: []",
		`{"$ref":"#/$defs/a"}`:                                                                                `schema #/$ref: "#/$defs/a"`,
		`{"$ref":"http://a/b"}`:                                                                               `schema #/$ref: "http://a/b"`,
		`{"$ref":1}`:                                                                                          "schema #/$ref: 1",
		`{"$ref":"#"}`:                                                                                        "schema #: a schema that leads to itself",
		`{"$recursiveRef":"#"}`:                                                                               "schema #/$recursiveRef: a keyword that is not supported",
		`{"$dynamicRef":"#a","$defs":{"1":{"$dynamicAnchor":"a","$id":"x"},"2":{"$dynamicAnchor":"a"}}}`: "schema #/$dynamicRef: one of several",
		`{"type":"array","items":{"$ref":"#"},"minItems":1}`:                                             "schema #: a schema that no value",
		`{"properties":1}`:       "schema #/properties: 1",
		`{"properties":{"a":1}}`: "schema #/properties/a: 1",
		`{"required":["a"],"type":"object","additionalProperties":false}`: "a schema that no value satisfies",
		`{"minimum":1e999}`:                               "schema #: the number 1e999, which is beyond float64",
		`{"minimum":1e-401}`:                              "schema #: the number 1e-401, whose exponent is beyond",
		`{"minimum":0e99999999999999999999}`:              "whose exponent is beyond",
		`{"minimum":0.` + strings.Repeat("1", 5000) + `}`: "more than 4096 digits of a number",
		`{"required":1}`:                                  "schema #/required: 1",
		`{"required":[1]}`:                                "schema #/required/0: 1",
		`{"uniqueItems":1}`:                               "schema #/uniqueItems: 1",
		strings.Repeat(`{"items":`, 150) + "true" + strings.Repeat("}", 150):                                                                         "",
		strings.Repeat(`{"items":`, 300) + "true" + strings.Repeat("}", 300):                                                                         "more than 200 values within",
		`{"type":"string","pattern":"(a|aa){1000}(b|bb){1000}","minLength":60000}`:                                                                   "more than",
		`{"allOf":[` + strings.TrimSuffix(strings.Repeat(`{"anyOf":[{"required":["a"]},{"minProperties":2},{"maxProperties":9}]},`, 30), ",") + `]}`: "alternatives of one schema",
	} {
		g, err := FromSchema([]byte(schema))
		if want == "" && err == nil {
			continue
		}
		if len(fmt.Sprint(err)) > 600 {
			t.Errorf("%.80q: an error of %d bytes", schema, len(fmt.Sprint(err)))
		}
		if err == nil || !strings.Contains(err.Error(), want) || want == "" || !errors.As(err, new(*kernel.Error)) {
			t.Errorf("%.80q: %v, %v, want %q", schema, g != nil, err, want)
		}
	}
}

// TestExactBounds: bounds are read exactly, also where float64 has no such number.
func TestExactBounds(t *testing.T) {
	for schema, texts := range map[string]map[string]bool{
		`{"type": "integer", "minimum": 9007199254740992.5}`:          {"9007199254740992": false, "9007199254740993": true},
		`{"type": "integer", "maximum": 9007199254740992.5}`:          {"9007199254740992": true, "9007199254740993": false},
		`{"type": "integer", "exclusiveMinimum": 9007199254740992.5}`: {"9007199254740992": false, "9007199254740993": true},
		`{"type": "integer", "maximum": 0.99999999999999999999}`:      {"0": true, "1": false},
	} {
		g, err := FromSchema([]byte(schema))
		if err != nil {
			t.Fatal(err)
		}
		for text, want := range texts {
			if got, err := g.Match(text); got != want || err != nil {
				t.Errorf("%s takes %s: %v, %v, want %v", schema, text, got, err, want)
			}
		}
	}
}

// TestLargeSchemas: a schema of the greatest length takes no more time than its length
// accounts for. One with work for each pair of its parts would not come to an end here.
func TestLargeSchemas(t *testing.T) {
	list := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	keys, numbers := list(90000, `"%d"`), list(40000, "%d")
	half := list(40000, "1%05d")
	long := strings.Repeat("k", 1<<19)
	for name, schema := range map[string]string{
		"required":                    `{"required": [` + keys + `], "type": "object"}`,
		"required and properties":     `{"type": "object", "required": [` + list(40000, `"%d"`) + `], "properties": {` + list(40000, `"%d": {}`) + `}}`,
		"required of a schema":        `{"required": [` + keys + `], "type": "object", "additionalProperties": {"enum": [` + list(30000, "%d") + `]}}`,
		"a key twice":                 `{"required": [` + keys + `, "7"], "type": "object"}`,
		"enums of oneOf":              `{"oneOf": [{"enum": [` + numbers + `]}, {"enum": [` + half + `]}]}`,
		"keys of oneOf":               `{"oneOf": [{"type": "object", "required": [` + list(40000, `"a%d"`) + `]}, {"type": "object", "required": [` + list(40000, `"b%d"`) + `]}]}`,
		"references to one schema":    `{"$defs": {"a": {"enum": [` + numbers + `]}}, "oneOf": [` + strings.TrimSuffix(strings.Repeat(`{"$ref": "#/$defs/a"},`, 150), ",") + `]}`,
		"a long name above many":      `{"type": "object", "properties": {"` + long + `": {"anyOf": [` + list(30000, `{"const": %d}`) + `]}}}`,
		"a long pointer":              `{"$ref": "#` + strings.Repeat("/a", 1<<18) + `"}`,
		"pointers of other spellings": `{"$defs": {"ab": {"enum": [` + list(9000, "%d") + `]}}, "anyOf": [` + spellings("/$defs/ab", 9000) + `]}`,
		"multiples":                   `{"prefixItems": [` + list(9000, `{"multipleOf": 7919, "minimum": %d}`) + `]}`,
		"patterns of one string":      `{"allOf": [` + list(5000, `{"pattern": "a%d"}`) + `]}`,
		"long numbers":                `{"enum": [` + list(90000, `%de-300`) + `]}`,
		"longer numbers":              `{"enum": [` + list(90000, `%de-999999`) + `]}`,
		"zeros":                       `{"enum": [` + list(90000, `0e-99%d`) + `]}`,
		"many rules":                  `{"prefixItems": [` + list(22000, `{"type": "array", "items": {"const": %d}}`) + `]}`,
	} {
		g, err := FromSchema([]byte(schema))
		if g == nil && !errors.As(err, new(*kernel.Error)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// spellings returns references to a pointer, each with other characters escaped.
func spellings(pointer string, n int) string {
	var list []string
	for i := range n {
		text := "#/"
		for k, c := range []byte(pointer[1:]) {
			switch {
			case c != '/' && i>>k&1 != 0:
				text += fmt.Sprintf("%%%02x", c)
			default:
				text += string(rune(c))
			}
		}
		list = append(list, `{"$ref": "`+text+`"}`)
	}
	return strings.Join(list, ",")
}

// TestPointers: other spellings of a pointer lead to the same part, and an index has one
// spelling.
func TestPointers(t *testing.T) {
	root, err := readJSON([]byte(`{"$defs": {"ab": {"const": 1}}, "list": [{"const": 2}, {"const": 3}], "": {"/": {"~": 5}}}`))
	if err != nil {
		t.Fatal(err)
	}
	x := newIndex(root)
	for pointer, want := range map[string]string{
		"#/$defs/ab": `{"const":1}`, "#/$defs/%61%62": `{"const":1}`, "#/%24defs/ab": `{"const":1}`, "#/list/1": `{"const":3}`, "#/list/01": "", "#/list/+1": "", "#/list/-0": "", "#/list/2": "",
		"#//~1/~0": "5", "#/": `{"/":{"~":5}}`, "#list": "", "/list": "", "#/list/0/": "", "#/$defs/%6": "",
	} {
		got := ""
		if v := x.resolve(pointer, ""); v != nil {
			got = v.write()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", pointer, got, want)
		}
	}
}
