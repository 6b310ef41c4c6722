package grammar

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemas are some of everything that is taken, with texts that the grammar must have, and some that it
// must not.
var schemas = []struct {
	schema  string
	yes, no []string
}{
	{`true`, []string{`null`, `{"a":[1,2.5e3,{"b":"\u00e9\n"}]}`, `[]`, `-0`, `"a\"b"`}, []string{``, `[1,]`, `{"a"}`, `01`, `"`, "\"\n\"", `"\ud83d"`, ` 1`, `1e999`}},
	{`{"type":"null"}`, []string{`null`}, []string{`0`}},
	{`{"type":["boolean","null"],"title":"x"}`, []string{`true`, `false`, `null`}, []string{`1`}},
	{`{"type":"integer"}`, []string{`0`, `-12`, `1234567890123456`}, []string{`1.0`, `01`, `12345678901234567`}},
	{`{"type":"integer","minimum":-17,"maximum":1305}`, []string{`-17`, `-1`, `0`, `9`, `10`, `1305`}, []string{`-18`, `1306`, `-0`, `00`}},
	{`{"type":"integer","exclusiveMinimum":9.5,"exclusiveMaximum":100}`, []string{`10`, `99`}, []string{`9`, `100`}},
	{`{"minimum":3,"type":"integer"}`, []string{`3`, `999999999999999999`}, []string{`2`, `-3`}},
	{`{"maximum":-3,"type":"integer"}`, []string{`-3`, `-999999999999999999`}, []string{`-2`, `3`}},
	{`{"type":"number","minimum":0}`, []string{`0.5`, `1e-9`}, []string{`-1`, `.5`, `1.`}},
	{`{"type":"string","minLength":2,"maxLength":3}`, []string{`"ab"`, `"é😀€"`, `"\u00e9\n"`}, []string{`"a"`, `"abcd"`}},
	{`{"type":"string","pattern":"^[A-Z][a-z]+(-[0-9]{2})?$"}`, []string{`"Ab"`, `"Abc-12"`}, []string{`"ab"`, `"Ab-1"`, `"Ab-123"`}},
	{`{"type":"string","pattern":"ab|^c\"$|\\td"}`, []string{`"xaby"`, `"c\""`, `"q\td"`}, []string{`"xc\""`, `"td"`}},
	{`{"type":"string","pattern":"^(?:(?i)ok|[^a]\\\\.){1,2}$"}`, []string{`"OK"`, `"ok\"\\x"`}, []string{`"a\\x"`, `"okokok"`}},
	{`{"type":"string","format":"date-time"}`, []string{`"2024-02-28T23:59:59Z"`, `"2024-12-31T00:00:00.5+01:00"`}, []string{`"2024-02-30T00:00:00Z"`, `"2024-01-01"`}},
	{`{"type":"string","format":"uuid"}`, []string{`"01234567-89ab-cdef-0123-456789abcdef"`}, []string{`"0123"`}},
	{`{"enum":["a","é\"",1,null,[1,{"b":2}]]}`, []string{`"a"`, `"é\""`, `1`, `null`, `[1,{"b":2}]`}, []string{`"b"`, `[1, {"b":2}]`}},
	{`{"const":{"a":1}}`, []string{`{"a":1}`}, []string{`{}`}},
	{`{"type":"string","enum":["a",1]}`, []string{`"a"`}, []string{`1`}},
	{`{"type":"array","items":{"type":"boolean"},"minItems":1,"maxItems":3}`, []string{`[true]`, "[ true,\n\tfalse,true ]"}, []string{`[]`, `[true,true,true,true]`, `[1]`}},
	{`{"items":{"const":1}}`, []string{`[]`, `[1,1,1,1,1]`}, []string{`[1,]`, `1`}},
	{`{"type":"array","items":false}`, []string{`[]`}, []string{`[1]`}},
	{`{"type":"array","prefixItems":[{"type":"integer"},{"type":"string"}]}`, []string{`[1,"a"]`}, []string{`[1]`, `["a",1]`, `[1,"a",2]`}},
	{`{"type":"object"}`, []string{`{}`}, []string{`{"a":1}`, `[]`}},
	{`{"type":"object","additionalProperties":{"type":"integer"}}`, []string{`{}`, `{"a":1, "b":2}`}, []string{`{"a":"b"}`}},
	{`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"null"},"c":true},"required":["b"]}`,
		[]string{`{"b":null}`, `{"a":1,"b":null,"c":[]}`, `{ "b": null, "c": 1 }`}, []string{`{}`, `{"a":1}`, `{"b":null,"a":1}`, `{"b":null,}`}},
	{`{"properties":{"a":{"type":"integer"},"ab":{"type":"null"}}}`, []string{`{}`, `{"a":1}`, `{"ab":null}`, `{"a":1,"ab":null}`}, []string{`{"a":null}`, `{,"ab":null}`}},
	{`{"type":"object","properties":{"a":{"type":"integer"},"ab":{"type":"null"}},"additionalProperties":{"type":"string"}}`,
		[]string{`{"a":1,"b":"x","abc":"","":"y"}`, `{"b":"x"}`, `{"ab":null,"ac":"x"}`}, []string{`{"a":"x"}`, `{"b":"x","a":"1"}`, `{"\u0061":"x"}`}},
	{`{"type":"object","required":["x","y"],"properties":{"y":{"const":1}}}`, []string{`{"y":1,"x":[null]}`}, []string{`{"y":1}`}},
	{`{"anyOf":[{"type":"integer"},{"type":"string","maxLength":1}]}`, []string{`1`, `"a"`}, []string{`"ab"`, `null`}},
	{`{"oneOf":[{"type":"object","properties":{"kind":{"const":"a"},"x":{"type":"integer"}},"required":["kind","x"]},{"type":"object","properties":{"kind":{"enum":["b","c"]}},"required":["kind"]},{"type":"null"}]}`,
		[]string{`{"kind":"a","x":1}`, `{"kind":"c"}`, `null`}, []string{`{"kind":"a"}`, `{"kind":"d"}`}},
	{`{"oneOf":[{"type":"object","properties":{"a":true},"required":["a"]},{"type":"object","properties":{"b":true},"required":["b"]}]}`, []string{`{"a":1}`, `{"b":1}`}, []string{`{}`}},
	{`{"allOf":[{"$ref":"#/$defs/p~1q%25"}],"$defs":{"p/q%":{"type":"boolean"}}}`, []string{`true`}, []string{`1`}},
	{`{"$ref":"#/$defs/tree","$defs":{"tree":{"type":"object","properties":{"value":{"type":"integer"},"left":{"$ref":"#/$defs/tree"},"right":{"anyOf":[{"$ref":"#/$defs/tree"},{"type":"null"}]}},"required":["value"]}}}`,
		[]string{`{"value":1}`, `{"value":1,"left":{"value":2,"right":null},"right":{"value":3}}`}, []string{`{}`, `{"left":{"value":1}}`}},
	{`{"type":"array","items":{"$ref":"#"}}`, []string{`[]`, `[[],[[]]]`}, []string{`[1]`}},
}

func fromSchema(t testing.TB, schema string) *Grammar {
	t.Helper()
	g, err := FromSchema([]byte(schema))
	if err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	return g
}

func TestSchemaTexts(t *testing.T) {
	for _, x := range schemas {
		g := fromSchema(t, x.schema)
		for _, text := range x.yes {
			if !match(t, g, text) {
				t.Errorf("%s has no %s", x.schema, text)
			}
		}
		for _, text := range x.no {
			if match(t, g, text) {
				t.Errorf("%s has %s", x.schema, text)
			}
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

// closing are tokens that a text which is long is to go on with: ends, a digit, and what a pattern of
// the schemas asks for.
var closing = []int32{'"', jsonTokens().id("ab"), '}', ']', '0'}

// generate returns a random text of a grammar.
func generate(t testing.TB, g *Grammar, v *Vocabulary, random *rand.Rand) string {
	t.Helper()
	x, err := g.Matcher(v)
	if err != nil {
		t.Fatal(err)
	}
	text, list := []byte(nil), []int32(nil)
	for !x.MustEnd() && !(x.MayEnd() && random.IntN(4) == 0) {
		words, err := x.Mask()
		if err != nil {
			t.Fatal(err)
		}
		list = list[:0]
		for id := range int32(v.Len()) {
			if words[id/64]>>(id%64)&1 != 0 {
				list = append(list, id)
			}
		}
		if len(list) == 0 {
			t.Fatalf("nothing may follow %q", text)
		}
		id := list[random.IntN(len(list))]
		for _, c := range closing {
			if random.IntN(400) < min(len(text), 300) && words[c/64]>>(c%64)&1 != 0 {
				id = c
				break
			}
		}
		if err := x.Accept(id); err != nil {
			t.Fatal(err)
		}
		if text = append(text, v.token(id)...); len(text) > 20000 {
			t.Fatalf("%.200q is without end", text)
		}
	}
	return string(text)
}

// id returns the id of a token.
func (v *Vocabulary) id(text string) int32 {
	for id := range int32(v.size) {
		if string(v.token(id)) == text {
			return id
		}
	}
	return -1
}

// token returns the bytes of a token.
func (v *Vocabulary) token(id int32) []byte {
	var text []byte
	for at := v.at[id]; at > 0; at = v.nodes[at].parent {
		text = append([]byte{v.nodes[at].c}, text...)
	}
	return text
}

// Every text of the grammar parses and satisfies the schema, says a validator of others.
func TestSchemaValid(t *testing.T) {
	v, random := jsonTokens(), rand.New(rand.NewPCG(11, 12))
	for i, x := range schemas {
		g := fromSchema(t, x.schema)
		document, err := jsonschema.UnmarshalJSON(strings.NewReader(x.schema))
		if err != nil {
			t.Fatal(err)
		}
		c := jsonschema.NewCompiler()
		c.AssertFormat()
		name := fmt.Sprintf("file:///%d.json", i)
		if err := c.AddResource(name, document); err != nil {
			t.Fatal(err)
		}
		check, err := c.Compile(name)
		if err != nil {
			t.Fatalf("%s: %v", x.schema, err)
		}
		different := map[string]bool{}
		for range 60 {
			text := generate(t, g, v, random)
			different[text] = true
			var parsed any
			if err := json.Unmarshal([]byte(text), &parsed); err != nil {
				t.Fatalf("%s: %q: %v", x.schema, text, err)
			}
			instance, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(text)))
			if err != nil {
				t.Fatal(err)
			}
			if err := check.Validate(instance); err != nil {
				t.Fatalf("%s: %q: %v", x.schema, text, err)
			}
		}
		if len(x.yes) > 3 && len(different) < 3 {
			t.Errorf("%s: only %d texts", x.schema, len(different))
		}
	}
}

// What is not supported is an error that says where.
func TestSchemaErrors(t *testing.T) {
	for schema, want := range map[string]string{
		``:                                  "schema #: got EOF",
		`1`:                                 "schema #: got 1, want an object or true",
		`false`:                             "schema #: got false",
		`{} {}`:                             "more than one value",
		`{"a":1,"a":2}`:                     `key "a" twice`,
		`{"type":"float"}`:                  `schema #/type: got "float"`,
		`{"type":[]}`:                       "schema #/type: got no type",
		`{"multipleOf":2}`:                  "schema #/multipleOf: got a keyword that is not supported",
		`{"uniqueItems":true}`:              "schema #/uniqueItems",
		`{"properties":{"a/b":{"not":{}}}}`: "schema #/properties/a~1b/not",
		`{"type":"number","minimum":1}`:     "schema #/minimum: got 1 for numbers",
		`{"type":"integer","minimum":1,"maximum":0}`:                                            "bounds without an integer",
		`{"type":"integer","minimum":"1"}`:                                                      `schema #/minimum: got "1"`,
		`{"type":"integer","minimum":1e300}`:                                                    "up to 18 digits",
		`{"type":"string","minLength":-1}`:                                                      "schema #/minLength: got -1",
		`{"type":"string","minLength":3,"maxLength":2}`:                                         "maxLength below minLength",
		`{"type":"string","minLength":3,"pattern":"a"}`:                                         "several of pattern, format, and a length",
		`{"type":"string","maxLength":999999999}`:                                               "more than 131072 maxLength",
		`{"type":"string","format":"email"}`:                                                    `schema #/format: got "email"`,
		`{"type":"string","pattern":"("}`:                                                       "schema #/pattern: got error parsing regexp",
		`{"type":"string","pattern":"a\\bc"}`:                                                   "no ends of words",
		`{"type":"string","pattern":"a^b"}`:                                                     "no ends of words",
		`{"type":"array","minItems":2,"maxItems":1}`:                                            "maxItems below minItems",
		`{"type":"array","items":false,"minItems":1}`:                                           "schema #/items: got false",
		`{"type":"array","prefixItems":[true],"minItems":2}`:                                    "schema #/prefixItems",
		`{"type":"array","prefixItems":1}`:                                                      "schema #/prefixItems",
		`{"enum":[]}`:                                                                           "no constant of its type",
		`{"const":1e999}`:                                                                       "value out of range",
		`{"additionalProperties":true,"properties":{"` + strings.Repeat("x", 9000) + `":true}}`: "more than 8192 bytes of properties",
		`{"type":"string","pattern":"` + strings.Repeat(`\\pL`, 1000) + `"}`:                    "more than 131072 ranges",
		`{"enum":1}`:                                         "schema #/enum: got 1",
		`{"type":"string","const":1}`:                        "no constant of its type",
		`{"const":1,"minimum":0}`:                            "schema #/minimum",
		`{"anyOf":[]}`:                                       "schema #/anyOf: got []",
		`{"anyOf":[true],"oneOf":[true]}`:                    "schema #/oneOf",
		`{"oneOf":[{"type":"integer"},{"type":"number"}]}`:   "schemas 0 and 1, which may take the same value",
		`{"oneOf":[{"type":"integer"},{}]}`:                  "schemas 0 and 1",
		`{"allOf":[true,true]}`:                              "schema #/allOf: got 2 schemas",
		`{"$ref":"#/$defs/a"}`:                               `schema #/$ref: got "#/$defs/a"`,
		`{"$ref":"http://a/b"}`:                              "schema #/$ref",
		`{"$ref":1}`:                                         "schema #/$ref: got 1",
		`{"$ref":"#"}`:                                       "no text satisfies",
		`{"type":"array","items":{"$ref":"#"},"minItems":1}`: "no text satisfies",
		`{"properties":1}`:                                   "schema #/properties: got 1",
		`{"required":["a"],"additionalProperties":false}`:    "schema #/required/0",
		`{"required":["a","a"]}`:                             "schema #/required/1",
		`{"required":1}`:                                     "schema #/required: got 1",
		strings.Repeat(`{"items":`, 150) + "true" + strings.Repeat("}", 150):            "",
		strings.Repeat(`{"items":`, 300) + "true" + strings.Repeat("}", 300):            "more than 200 values within",
		`{"type":"array","maxItems":100000,"items":{"type":"array","maxItems":100000}}`: "more than 131072 states",
	} {
		g, err := FromSchema([]byte(schema))
		if want == "" && err == nil {
			continue
		}
		var a *SchemaError
		var b *LimitError
		var c *SyntaxError
		if err == nil || !strings.Contains(err.Error(), want) || want == "" || !errors.As(err, &a) && !errors.As(err, &b) && !errors.As(err, &c) {
			t.Errorf("%.80q: %v, %v, want %q", schema, g, err, want)
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

// TestLargeSchemas: a schema of the greatest length takes no more time than its length accounts for. One with
// work for each pair of its parts would not come to an end here.
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
		"many rules":                  `{"prefixItems": [` + list(22000, `{"type": "array", "items": {"const": %d}}`) + `]}`,
	} {
		g, err := FromSchema([]byte(schema))
		var limit *LimitError
		var bad *SchemaError
		if g == nil && !errors.As(err, &limit) && !errors.As(err, &bad) {
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

// TestPointers: other spellings of a pointer lead to the same part, and an index has one spelling.
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
