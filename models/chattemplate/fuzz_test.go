package chattemplate_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/tokenizer"
)

// Whatever the template, it is an error or ends, with parts that are not empty, alternate and are
// the text.
func FuzzTemplate(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.jinja"))
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(source), "user", " Hello <|im_end|>\n{{ 1 }}")
	}
	f.Fuzz(func(t *testing.T, source, role, content string) {
		template, err := chattemplate.New(source)
		if err != nil {
			return
		}
		messages := talk("system", content, role, content+content, "assistant", role)
		parts, err := template.Parts(t.Context(), messages, true)
		if err != nil {
			if strings.Contains(err.Error(), "internal error") {
				t.Fatal(err)
			}
			return
		}
		for i, p := range parts {
			if p.Text == "" || i > 0 && p.Special == parts[i-1].Special {
				t.Fatalf("part %d of %+v", i, parts)
			}
		}
		if text, err := template.Render(messages, true); err != nil || text != tokenizer.Join(parts) {
			t.Fatalf("text %q, parts %+v, error %v", text, parts, err)
		}
	})
}
