package folder

import (
	"fmt"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/internal/strict"
)

// lateKeys are the keys of config_sentence_transformers.json that PyLate adds.
var lateKeys = strict.Table{"similarity_fn_name": strict.Only("null", `"MaxSim"`)}.
	Add(strict.Any, "query_prefix", "document_prefix", "query_length", "document_length", "attend_to_expansion_tokens", "do_query_expansion", "skiplist_words")

// punctuation are the words that PyLate leaves out of documents if a file does not say it:
// string.punctuation of Python.
const punctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"

// defaultLate is what PyLate has for keys that a file leaves out.
func defaultLate() *embedding.Late {
	l := &embedding.Late{QueryPrefix: "[Q] ", DocumentPrefix: "[D] ", QueryLength: 32, DocumentLength: 180, Expand: true}
	for _, c := range punctuation {
		l.Skip = append(l.Skip, string(c))
	}
	return l
}

// readLate reads how PyLate makes tokens of queries and documents. null leaves a default as it is.
func (f *Folder) readLate(name string, l *embedding.Late) error {
	c := struct {
		Query    *string   `json:"query_prefix"`
		Document *string   `json:"document_prefix"`
		Queries  *int      `json:"query_length"`
		Length   *int      `json:"document_length"`
		Attend   *bool     `json:"attend_to_expansion_tokens"`
		Expand   *bool     `json:"do_query_expansion"`
		Skip     *[]string `json:"skiplist_words"`
	}{&l.QueryPrefix, &l.DocumentPrefix, &l.QueryLength, &l.DocumentLength, &l.Attend, &l.Expand, &l.Skip}
	if err := f.JSON(name, &c); err != nil {
		return err
	}
	for key, n := range map[string]int{"query_length": l.QueryLength, "document_length": l.DocumentLength} {
		if n < 3 || n > mostWidth {
			return &kernel.Error{Where: f.Path(name) + ": " + key, Got: fmt.Sprint(n), Want: fmt.Sprintf("3 to %d", mostWidth)}
		}
	}
	return nil
}
