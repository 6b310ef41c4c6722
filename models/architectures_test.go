package models_test

import (
	"os"
	"strings"
	"testing"

	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/encoder"
)

// TestArchitectures: README.md lists the models that are computed.
func TestArchitectures(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	folders, files := decoder.Architectures()
	encoders, encoderFiles := encoder.Architectures()
	for begin, names := range map[string][]string{
		"- Decoders in GGUF files: ": files, "- Decoders in folders, by `model_type`: ": folders,
		"- Encoders in GGUF files: ": encoderFiles, "- Encoders in folders, by `model_type`: ": encoders,
	} {
		want := begin + "`" + strings.Join(names, "`, `") + "`"
		if _, rest, ok := strings.Cut(string(text), want); !ok || strings.HasPrefix(rest, ",") {
			t.Errorf("README.md has no line that begins with\n%s", want)
		}
	}
}
