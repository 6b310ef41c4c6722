package fields

import (
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	_ "github.com/attn-go/attn/models/internal/refs" // the flag -refs
)

type shared struct {
	Seed *int   `json:"seed"`
	Bias Absent `json:"bias"`
}

type request struct {
	shared
	Model string  `json:"model"`
	User  Unused  `json:"user"`
	Stop  Texts   `json:"stop"`
	Input Inputs  `json:"input"`
	Text  Content `json:"text"`
	IDs   Tokens  `json:"ids"`
	List  []struct {
		Audio Absent `json:"audio"`
	} `json:"list"`
}

// TestDecode: every form of a field is read, and a request that cannot be answered as it is meant is an error that names the field.
func TestDecode(t *testing.T) {
	var r request
	const body = `{"model": "m", "seed": 3, "bias": {}, "user": {"any": [1]}, "stop": "x", "input": [[1, 2], [3]], "text": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
		"ids": [4], "list": [{"audio": null}]}`
	if err := Decode(strings.NewReader(body), &r); err != nil {
		t.Fatal(err)
	}
	if *r.Seed != 3 || !slices.Equal(r.Stop, Texts{"x"}) || r.Input.Len() != 2 || !slices.Equal(r.Input.Tokens[0], []int32{1, 2}) || r.Text != "ab" || !slices.Equal(r.IDs, Tokens{4}) {
		t.Errorf("%+v", r)
	}
	for body, want := range map[string]Error{
		`{"stop": ["a", "b"], "input": ["a", "b"], "text": null}`: {},
		`{"input": [1, 2], "stop": null}`:                         {},
		`{"seed": "a"}`:                                           {"seed", "seed: got string, want int"},
		`{"list": 1}`:                                             {"list", "list: got number, want array"},
		`{"list": [1]}`:                                           {"list", "list: got number, want object"},
		`[]`:                                                      {"", "the body: got array, want object"},
		`{"bias": {"1": 2}}`:                                      {"bias", `bias: got {"1": 2}, which is not supported`},
		`{"list": [{}, {"audio": {"a": 1}}]}`:                     {"audio", `audio: got {"a": 1}, which is not supported`},
		`{"other": 1}`:                                            {"other", `the field "other" is not known or not supported`},
		`{"stop": [null]}`:                                        {"", "got [null], want a string or a list of strings"},
		`{"input": {"a": 1}}`:                                     {"", `got {"a": 1}, want a string, a list of strings, a list of token ids, or a list of such lists`},
		`{"ids": null}`:                                           {"", "got null, want a list of token ids"},
		`{"text": 1}`:                                             {"messages", "content: got 1, want a string or a list of parts"},
		`{} {}`:                                                   {"", "the body goes on after its JSON object"},
		`{} "a`:                                                   {"", "the body goes on after its JSON object"},
		`{} 1`:                                                    {"", "the body goes on after its JSON object"},
		`{`:                                                       {"", "the body is not JSON as expected: unexpected EOF"},
		``:                                                        {"", "the body is not JSON as expected: EOF"},
	} {
		var bad *Error
		switch err := Decode(strings.NewReader(body), new(request)); {
		case want == Error{} && err != nil:
			t.Errorf("%s: %v", body, err)
		case want != Error{} && (!errors.As(err, &bad) || *bad != want):
			t.Errorf("%s: %#v, want %+v", body, err, want)
		}
	}
}

// TestBody: a body that is too long or too slow is the error of its reader, wherever that comes, and one that breaks off is a fault of the request.
func TestBody(t *testing.T) {
	for _, begin := range []string{"", `{"model"`, `{}`, `{} `} {
		for _, end := range []error{&http.MaxBytesError{Limit: 3}, os.ErrDeadlineExceeded} {
			if err := Decode(io.MultiReader(strings.NewReader(begin), iotest.ErrReader(end)), new(request)); !errors.Is(err, end) {
				t.Errorf("%q: %v, want %v", begin, err, end)
			}
		}
		if err := Decode(io.MultiReader(strings.NewReader(begin), iotest.ErrReader(errors.New("broken"))), new(request)); !errors.As(err, new(*Error)) {
			t.Errorf("%q: %#v", begin, err)
		}
	}
}

// FuzzDecode: what is wrong with a body is an Error.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"model": "m", "seed": 3, "user": {"any": [1]}, "stop": "x", "input": [[1, 2], [3]], "text": [{"type": "text", "text": "a"}], "list": [{"audio": 1}]}`))
	f.Add([]byte(`{"input": [1], "ids": [2], "stop": ["a", null]} `))
	f.Fuzz(func(t *testing.T, body []byte) {
		if err := Decode(strings.NewReader(string(body)), new(request)); err != nil && !errors.As(err, new(*Error)) {
			t.Errorf("%T: %v", err, err)
		}
	})
}
