package settings

import (
	"slices"
	"strings"

	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/strict"
)

// configFile says what the model of a folder is.
const configFile = "config.json"

// ReadFolder reads config.json of a folder. fail makes the errors about its keys.
func (f *Families) ReadFolder(dir string, fail func(key, got, want string) error) (_ *arch.Model, err error) {
	s := strict.ReadJSON(dir, configFile, &err, fail)
	if err != nil {
		return nil, err
	}
	return f.read(s)
}

// read reads a config.json that is open.
func (f *Families) read(s *strict.JSON) (*arch.Model, error) {
	inner, around := s, f.wrapperOf(s)
	if around != nil {
		inner = around.unwrap(s)
	}
	kind := inner.Text("model_type")
	row := f.row(func(row *family) bool { return slices.Contains(row.Types, kind) })
	if row == nil {
		inner.Fail("model_type", quoted(kind), f.want(f.Types()))
		return nil, s.Err()
	}
	r := f.newReader(row)
	r.json, r.form = inner, inner
	if n := row.renamed; n != nil && (n.have == "" || inner.Given(n.have)) {
		inner.Rename(n.names)
	}
	inner.Limit(f.most)
	inner.Default(row.missing)
	if around != nil {
		inner.Default(row.nested)
	}
	for _, read := range row.folder {
		read(r)
	}
	switch {
	case f.quantized && around != nil:
		r.quantization(s, inner)
	case f.quantized:
		r.quantization(s)
	}
	classes(inner, row.Classes...)
	inner.Unknown(strict.Config, f.also, row.harmless)
	if around != nil {
		around.around(r, s, f.also)
	}
	if s.Err() != nil {
		return nil, s.Err()
	}
	return r.finish()
}

// tasks are the ends of names of classes in the transformers library.
var tasks = []string{"Model", "PreTrainedModel", "ForCausalLM", "ForConditionalGeneration", "ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering"}

// classes checks the names of the classes of the model. One that the transformers library does not
// have may compute something else than its model_type says, such as attention both ways, and say it
// nowhere else.
func classes(s *strict.JSON, begins ...string) {
	var names []string
	s.Read("architectures", "a list of strings", &names)
	for _, name := range names {
		task := func(begin string) bool {
			rest, ok := strings.CutPrefix(name, begin)
			return ok && slices.Contains(tasks, rest)
		}
		if len(begins) > 0 && !slices.ContainsFunc(begins, task) {
			s.Fail("architectures", quoted(name), begins[0]+"Model, "+begins[0]+"ForCausalLM or another class of transformers: what others compute is not known")
		}
	}
}
