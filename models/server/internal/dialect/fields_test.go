package dialect

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/models/server/internal/fields"
	"github.com/attn-go/attn/models/server/internal/options"
)

// TestTables: the tables of fields have as used what the requests have, and nothing else.
func TestTables(t *testing.T) {
	var names func(typ reflect.Type) []string
	names = func(typ reflect.Type) (all []string) {
		for i := range typ.NumField() {
			if f := typ.Field(i); f.Anonymous {
				all = append(all, names(f.Type)...)
			} else {
				name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
				all = append(all, name)
			}
		}
		return all
	}
	for _, body := range []fields.Tabled{
		&chatRequest{}, &completionRequest{}, &message{}, &options.StreamOptions{}, &options.Format{}, &options.Schema{}, &options.Structured{}, &reasoning{}, &thinking{},
		&tool{}, &function{}, &toolCall{}, &called{}, &toolChoice{}, &named{}, &allowed{}, &namedTool{},
		&ollamaChatRequest{}, &ollamaOptions{}, &ollamaGenerateRequest{}, &ollamaEmbedRequest{}, &ollamaEmbeddingsRequest{}, &ollamaShowRequest{},
		&messagesRequest{}, &countRequest{}, &anthropicTurn{}, &anthropicBlock{}, &anthropicTool{}, &anthropicOutput{},
		&responsesRequest{}, &responsesText{}, &responsesFormat{}, &responsesItem{}, &responsesTool{},
		&embeddingsRequest{}, &teiRequest{}, &rerankRequest{}, &tokenizeRequest{}, &detokenizeRequest{},
	} {
		var used []string
		for name, rule := range body.Fields() {
			if rule.Use == fields.Used {
				used = append(used, name)
			}
		}
		want := names(reflect.TypeOf(body).Elem())
		slices.Sort(used)
		slices.Sort(want)
		if !slices.Equal(used, want) {
			t.Errorf("%T: the table has %q, the request %q", body, used, want)
		}
	}
}
