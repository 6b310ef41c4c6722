package fields

import (
	"errors"
	"io"
	"math"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	_ "github.com/attn-go/attn/models/internal/refs" // the flag -refs
)

type shared struct {
	Seed *Int `json:"seed"`
}

type request struct {
	shared
	Model string    `json:"model"`
	Stop  Texts     `json:"stop"`
	Input Inputs    `json:"input"`
	Text  Content   `json:"text"`
	IDs   Tokens    `json:"ids"`
	List  []item    `json:"list"`
	One   *item     `json:"one"`
	Texts []Passage `json:"texts"`
	On    bool      `json:"on"`
	Names []string  `json:"names"`
}

type item struct {
	Name string `json:"name"`
}

var requestTable = NewTable([]Row{
	{Use: Used, Names: "seed model stop input text ids list one texts on names"},
	{Use: Harmless, Names: "user"},
	{Use: Refused, Nothing: "{} []", Names: "bias tools"},
	{Use: Refused, Nothing: "1 0", Names: "typical"},
	{Use: Refused, Nothing: `"auto"`, Names: "choice", Want: "peace"},
})

var itemTable = NewTable([]Row{{Use: Refused, Names: "audio"}})

func (*request) Fields() Table { return requestTable }
func (*item) Fields() Table    { return itemTable }

// decoded decodes a body and returns the names that nobody knows, in their order.
func decoded(body string, to any) (unknown []string, err error) {
	err = Decode([]byte(body), to, func(name string) { unknown = append(unknown, name) })
	slices.Sort(unknown)
	return unknown, err
}

// TestDecode: every form of a field is read.
func TestDecode(t *testing.T) {
	var r request
	const body = `{"model": "m", "seed": 3.0, "bias": {}, "user": {"any": [1]}, "stop": "x", "input": [[1, 2], [3]], "text": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
		"ids": [4], "list": [{"audio": null}, {"name": "b"}], "one": {"name": "a"}, "texts": ["a", {"text": "b"}], "typical": 1.0, "choice": "auto", "on": true}`
	unknown, err := decoded(body, &r)
	if err != nil || unknown != nil {
		t.Fatal(unknown, err)
	}
	if *r.Seed != 3 || !slices.Equal(r.Stop, Texts{"x"}) || len(r.Input.Tokens) != 2 || !slices.Equal(r.Input.Tokens[0], []int32{1, 2}) || r.Text != "ab" || !slices.Equal(r.IDs, Tokens{4}) {
		t.Errorf("%+v", r)
	}
	if r.One.Name != "a" || !slices.Equal(r.List, []item{{}, {"b"}}) || !slices.Equal(r.Texts, []Passage{"a", "b"}) || !r.On || r.Model != "m" {
		t.Errorf("%+v", r)
	}
}

// TestErrors: a request that cannot be answered as it is meant is an error that names the field.
func TestErrors(t *testing.T) {
	for body, want := range map[string]Error{
		`{"stop": ["a", "b"], "input": ["a", "b"], "text": null}`:    {},
		`{"input": [1, 2], "stop": null, "seed": null, "one": null}`: {},
		`{"seed": -1, "bias": [], "choice": null, "typical": 0e3}`:   {},
		`{"seed": "a"}`:                       {"seed", `seed: got "a", want an integer`},
		`{"seed": 3.5}`:                       {"seed", `seed: got 3.5, want an integer`},
		`{"seed": 18446744073709551615}`:      {"seed", "seed: got 18446744073709551615, want an integer from -2^63 to 2^63-1"},
		`{"seed": 1e300}`:                     {"seed", `seed: got 1e300, want an integer`},
		`{"seed": true}`:                      {"seed", `seed: got true, want an integer`},
		`{"model": 1}`:                        {"model", "model: got number, want string"},
		`{"on": 1}`:                           {"on", "on: got number, want bool"},
		`{"list": 1}`:                         {"list", "list: got number, want array"},
		`{"list": [1]}`:                       {"list[0]", "list[0]: got number, want object"},
		`{"list": [{}, null]}`:                {"list[1]", "list[1]: got null, want object"},
		`{"names": ["a", null]}`:              {"names[1]", "names[1]: got null, want string"},
		`{"list": [{}, {"name": 2}]}`:         {"list[1].name", "list[1].name: got number, want string"},
		`[]`:                                  {"", "the body: got array, want object"},
		`{"bias": {"1": 2}}`:                  {"bias", `bias: got {"1": 2}, want {} or [], as others are not supported`},
		`{"typical": 0.5}`:                    {"typical", `typical: got 0.5, want 1 or 0, as others are not supported`},
		`{"typical": "1"}`:                    {"typical", `typical: got "1", want 1 or 0, as others are not supported`},
		`{"typical": 3, "bias": 1}`:           {"bias", `bias: got 1, want {} or [], as others are not supported`},
		`{"choice": "war"}`:                   {"choice", `choice: got "war", want peace`},
		`{"list": [{}, {"audio": {"a": 1}}]}`: {"list[1].audio", `list[1].audio: got {"a": 1}, want none, as it is not supported`},
		`{"one": {"audio": 1}}`:               {"one.audio", `one.audio: got 1, want none, as it is not supported`},
		`{"stop": [null]}`:                    {"stop", "stop: got [null], want a string or a list of strings"},
		`{"input": {"a": 1}}`:                 {"input", `input: got {"a": 1}, want a string, a list of strings, a list of token ids, or a list of such lists`},
		`{"ids": null}`:                       {"ids", "ids: got null, want a list of token ids"},
		`{"text": 1}`:                         {"text", "text: got 1, want a string or a list of parts"},
		`{"text": ["a"]}`:                     {"text[0]", "text[0]: got string, want object"},
		`{"text": [{"type": "image_url"}]}`:   {"text[0]", `text[0]: a part of type "image_url" is not supported, only text is`},
		`{"texts": [{"title": "a"}]}`:         {"texts[0]", `texts[0]: got {"title": "a"}, want a string or an object with a text`},
		`{} {}`:                               {"", "the body is not JSON as expected: invalid character '{' after top-level value"},
		`{} 1`:                                {"", "the body is not JSON as expected: invalid character '1' after top-level value"},
		`{`:                                   {"", "the body is not JSON as expected: unexpected end of JSON input"},
		``:                                    {"", "the body is not JSON as expected: unexpected end of JSON input"},
	} {
		var bad *Error
		switch _, err := decoded(body, new(request)); {
		case want == Error{} && err != nil:
			t.Errorf("%s: %v", body, err)
		case want != Error{} && (!errors.As(err, &bad) || *bad != want):
			t.Errorf("%s: %#v, want %+v", body, err, want)
		}
	}
}

// TestNames: names are those that are written, of two the last counts, and what nobody knows is
// told.
func TestNames(t *testing.T) {
	var r request
	unknown, err := decoded(`{"Model": "no", "model": "a", "model": "b", "MODEL": 3, "list": [{"Name": "x", "id": 1}, {"id": {}}], "one": {"opts": 1},
		"text": [{"type": "text", "text": "t", "Text": "no", "mood": 1}], "texts": [{"text": "d", "title": "e"}], "": 1}`, &r)
	if err != nil || r.Model != "b" || r.List[0].Name != "" || r.Text != "t" {
		t.Errorf("%v, %+v", err, r)
	}
	if want := []string{"", "MODEL", "Model", "list[].Name", "list[].id", "list[].id", "one.opts", "text[].Text", "text[].mood", "texts[].title"}; !slices.Equal(unknown, want) {
		t.Errorf("%q, want %q", unknown, want)
	}
}

// TestTexts: an empty string ends no text.
func TestTexts(t *testing.T) {
	for body, want := range map[string]Texts{`""`: {}, `["", "a"]`: {"a"}, `[]`: {}, `null`: nil} {
		var got Texts
		if err := got.UnmarshalJSON([]byte(body)); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %q, want %q", body, err, got, want)
		}
	}
}

// TestInt: integers are exact up to the largest of 64 bits.
func TestInt(t *testing.T) {
	for text, want := range map[string]Int{"9223372036854775807": math.MaxInt64, "-9223372036854775808": math.MinInt64, "1e3": 1000, "-0.0": 0, "9007199254740992.0": 1 << 53} {
		var got Int
		if err := got.UnmarshalJSON([]byte(text)); err != nil || got != want {
			t.Errorf("%s: %v, %d, want %d", text, err, got, want)
		}
	}
}

// TestBody: a body that is too long or too slow is the error of its reader, wherever that comes,
// and one that breaks off is a fault of the request.
func TestBody(t *testing.T) {
	for _, begin := range []string{"", `{"model"`, `{}`, `{} `} {
		for _, end := range []error{&http.MaxBytesError{Limit: 3}, os.ErrDeadlineExceeded} {
			if _, err := Read(io.MultiReader(strings.NewReader(begin), iotest.ErrReader(end)), -1); !errors.Is(err, end) {
				t.Errorf("%q: %v, want %v", begin, err, end)
			}
		}
		if _, err := Read(io.MultiReader(strings.NewReader(begin), iotest.ErrReader(errors.New("broken"))), 5); !errors.As(err, new(*Error)) {
			t.Errorf("%q: %#v", begin, err)
		}
	}
	long := strings.Repeat("0123456789", 1000)
	for _, size := range []int64{-1, 0, 3, int64(len(long)), 1 << 60} { // what a client announces need not be so
		if got, err := Read(iotest.HalfReader(strings.NewReader(long)), size); err != nil || string(got) != long {
			t.Errorf("size %d: %v, %d bytes", size, err, len(got))
		}
	}
	if got, err := Read(strings.NewReader(long), int64(len(long))); err != nil || cap(got) > len(long)+1 {
		t.Errorf("%v, %d bytes for a body of %d", err, cap(got), len(long))
	}
}

// FuzzDecode: what is wrong with a body is an Error.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"model": "m", "seed": 3, "user": {"any": [1]}, "stop": "x", "input": [[1, 2], [3]], "text": [{"type": "text", "text": "a"}], "list": [{"audio": 1}]}`))
	f.Add([]byte(`{"input": [1], "ids": [2], "stop": ["a", null]} `))
	f.Fuzz(func(t *testing.T, body []byte) {
		if _, err := decoded(string(body), new(request)); err != nil && !errors.As(err, new(*Error)) {
			t.Errorf("%T: %v", err, err)
		}
	})
}

// TestManyItems: a list that would take much memory is an error before it does, wherever its items
// lie.
func TestManyItems(t *testing.T) {
	few := strings.TrimSuffix(strings.Repeat("{},", 1000), ",")
	many := strings.TrimSuffix(strings.Repeat("{},", 1<<20), ",")
	for body, want := range map[string]bool{`{"list": [` + few + `]}`: true, `{"list": [` + many + `]}`: false} {
		var to request
		err := Decode([]byte(body), &to, func(string) {})
		if (err == nil) != want || err != nil && err.(*Error).Field != "list" {
			t.Errorf("%d bytes: %v", len(body), err)
		}
	}
	for text, want := range map[string]int{`[]`: 1, `[1]`: 1, `[",", "\",", [1, 2], {"a": 1, "b": 2}]`: 4} {
		if got := itemsOf([]byte(text)); got != want {
			t.Errorf("%s: %d items, want %d", text, got, want)
		}
	}
}
