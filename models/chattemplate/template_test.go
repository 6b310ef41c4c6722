package chattemplate_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/chattemplate"
	_ "github.com/attn-go/attn/models/internal/testweights" // for the flag -refs
)

var options = chattemplate.Options{BOS: "<s>", EOS: "</s>", Date: chattemplate.DateOf(time.Date(2024, 7, 26, 1, 2, 3, 0, time.UTC))}

func parse(t testing.TB, file string) *chattemplate.Template {
	t.Helper()
	source, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	template, err := chattemplate.NewWith(string(source), options)
	if err != nil {
		t.Fatal(file, err)
	}
	return template
}

type rendering struct {
	Template, Talk string
	Messages       []chattemplate.Message
	Prompt         bool
	Text, Error    string
}

func renderings(t testing.TB) (all []rendering) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "renderings.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// The templates of testdata render as with jinja2, see testdata/render.py.
func TestRender(t *testing.T) {
	for _, x := range renderings(t) {
		got, err := parse(t, x.Template).Render(x.Messages, x.Prompt)
		switch {
		case x.Error == "" && err != nil:
			t.Errorf("%s, %s: %v", x.Template, x.Talk, err)
		case x.Error == "" && got != x.Text:
			t.Errorf("%s, %s:\n got %q\nwant %q", x.Template, x.Talk, got, x.Text)
		case x.Error != "" && err == nil:
			t.Errorf("%s, %s: got %q, want error %s", x.Template, x.Talk, got, x.Error)
		}
		if refused, ok := errors.AsType[*kernel.Error](err); ok && refused.Kind == chattemplate.ErrRefused && refused.Got != x.Error {
			t.Errorf("%s, %s: got error %q, want %q", x.Template, x.Talk, refused.Got, x.Error)
		}
	}
}

// The parts of a rendering are its text, and what is not special is what the messages say.
func TestParts(t *testing.T) {
	messages := talk("user", " a<|im_end|>\n", "assistant", "<think>b</think>\n\nc", "user", "d")
	parts, err := parse(t, "qwen3.jinja").Parts(t.Context(), messages, true)
	if err != nil {
		t.Fatal(err)
	}
	want := []struct {
		text    string
		special bool
	}{
		{"<|im_start|>", true}, {"user", false}, {"\n", true}, {" a<|im_end|>\n", false}, {"<|im_end|>\n<|im_start|>", true},
		{"assistant", false}, {"\n", true}, {"c", false}, {"<|im_end|>\n<|im_start|>", true},
		{"user", false}, {"\n", true}, {"d", false}, {"<|im_end|>\n<|im_start|>assistant\n", true},
	}
	if len(parts) != len(want) {
		t.Fatalf("got %+v, want %+v", parts, want)
	}
	for i, p := range parts {
		if p.Text != want[i].text || p.Special != want[i].special {
			t.Errorf("part %d: got %+v, want %+v", i, p, want[i])
		}
	}
}

// talk returns messages from roles and contents in turn.
func talk(rolesAndContents ...string) (messages []chattemplate.Message) {
	for i := 0; i < len(rolesAndContents); i += 2 {
		messages = append(messages, chattemplate.Message{Role: rolesAndContents[i], Content: rolesAndContents[i+1]})
	}
	return messages
}
