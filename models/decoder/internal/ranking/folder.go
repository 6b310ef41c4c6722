package ranking

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/internal/folder"
	"github.com/attn-go/attn/models/internal/strict"
	"github.com/attn-go/attn/models/reranking"
)

// A card is a family of rerankers whose config.json does not say that they are rerankers. As
// llama.cpp's convert_hf_to_gguf.py does, Ranks looks at the model's card, README.md, and at the
// name of the folder.
type card struct {
	architecture          string
	mark                  string // in the name of the folder, or in a heading of README.md, in lower case
	template, instruction string // see reranking.Template
	yes, no               string // the tokens of answers
}

// cards has a row for each family. The texts are in the families' README.md.
var cards = []card{{
	architecture: "qwen3", mark: "qwen3-reranker", yes: "yes", no: "no",
	template: "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct provided. " +
		"Note that the answer can only be \"yes\" or \"no\".<|im_end|>\n<|im_start|>user\n" +
		"<Instruct>: {instruction}\n<Query>: {query}\n<Document>: {document}<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n",
	instruction: "Given a web search query, retrieve relevant passages that answer the query",
}}

// cardOf returns the card of a folder, or nil.
func cardOf(dir, architecture string) *card {
	name, text := strings.ToLower(filepath.Base(filepath.Clean(dir))), "\n"+strings.ToLower(readme(dir))
	for i, c := range cards {
		if c.architecture == architecture && (strings.Contains(name, c.mark) || strings.Contains(text, "\n# "+c.mark)) {
			return &cards[i]
		}
	}
	return nil
}

// mostReadme is how much of a README.md is looked at.
const mostReadme = 1 << 20

// readme returns the beginning of a folder's README.md, "" without one that can be read.
func readme(dir string) string {
	path := filepath.Join(dir, "README.md")
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	data, _ := io.ReadAll(io.LimitReader(f, mostReadme))
	return string(data)
}

// Ranks tells whether a folder has a reranker, whose config.json has a model of an architecture and
// names some classes.
func Ranks(dir, architecture string, classes []string) (bool, error) {
	list, err := readModules(dir)
	if list != nil || err != nil {
		return list.score() != nil || list.classifies(), err
	}
	return classified(classes) || cardOf(dir, architecture) != nil && !slices.ContainsFunc(classes, func(class string) bool { return strings.HasSuffix(class, "Model") }), nil
}

// classified tells whether classes of transformers have one with a layer score.
func classified(classes []string) bool {
	return slices.ContainsFunc(classes, func(class string) bool { return strings.HasSuffix(class, "ForSequenceClassification") })
}

// modules are the modules of modules.json, nil without the file.
type modules []folder.Listed

func readModules(dir string) (modules, error) {
	list, err := folder.ReadList(dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return list, err
}

// kind returns the class of module i.
func (m modules) kind(i int) string { return m[i].Type[strings.LastIndex(m[i].Type, ".")+1:] }

// score returns the path of the module LogitScore, or nil if it is not the second of two.
func (m modules) score() *string {
	if len(m) == 2 && m.kind(0) == "Transformer" && m.kind(1) == "LogitScore" {
		return &m[1].Path
	}
	return nil
}

// classifies tells whether the transformer alone makes scores.
func (m modules) classifies() bool { return len(m) == 1 && m.kind(0) == "Transformer" }

// A transformerFile is what sentence_bert_config.json of sentence-transformers says.
type transformerFile struct {
	task   string // text-generation, sequence-classification, or "" if it does not say it
	limit  int    // of tokens, or 0
	chats  bool   // a chat template writes the two texts
	answer bool   // and the beginning of the answer
}

const transformerName = "sentence_bert_config.json"

// readTransformer reads the file, if there is one.
func readTransformer(dir string, m Model) (t transformerFile, err error) {
	s := strict.ReadJSON(dir, transformerName, &err, func(key, got, want string) error { return m.Fault(transformerName, key, got, want) })
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	t.task = s.Text("transformer_task")
	if s.Has("max_seq_length") {
		t.limit = s.Size("max_seq_length", 0)
	}
	s.Only("do_lower_case", false)
	modality := s.Under("modality_config")
	t.chats = modality.Has("message")
	for _, name := range []string{"text", "message"} {
		kind := modality.Under(name)
		kind.Only("method", "forward")
		kind.Only("method_output_name", "logits")
		if format := kind.Text("format"); format != "" && format != "flat" {
			kind.Fail("format", fmt.Sprintf("%q", format), `"flat"; others are not supported`)
		}
		kind.Unknown()
	}
	modality.Unknown()
	processing := s.Under("processing_kwargs")
	chat := processing.Under("chat_template")
	t.answer = chat.Yes("add_generation_prompt")
	chat.Only("restore_suffix", true)
	chat.Unknown()
	processing.Unknown()
	s.Unknown(strict.Table{"module_output_name": strict.Any, "unpad_inputs": strict.Any, "query_length": strict.Any, "document_length": strict.Any})
	return t, err
}

// check reports a task that does not fit the model's modules.
func (t *transformerFile) check(answers bool, m Model) error {
	want := "sequence-classification"
	if answers {
		want = "text-generation"
	}
	if t.task != "" && t.task != want {
		return m.Fault(transformerName, "transformer_task", fmt.Sprintf("%q", t.task), fmt.Sprintf("%q, as its modules have it", want))
	}
	return nil
}

// ReadFolder reads how the model of a folder scores pairs. Errors are those that Model.Fault makes,
// and [*kernel.Error].
func ReadFolder(dir string, m Model) (*Ranking, error) {
	c, err := reranking.ReadConfig(dir)
	if err != nil {
		return nil, err
	}
	list, err := readModules(dir)
	if err != nil {
		return nil, err
	}
	r := &Ranking{Labels: c.Labels, Identity: c.Identity, Padding: -1}
	card := cardOf(dir, m.Architecture)
	var main struct {
		Classes []string `json:"architectures"`
	}
	if err := folder.ReadJSON(filepath.Join(folder.Transformer(dir), configName), &main); err != nil {
		return nil, err
	}
	path := list.score()
	switch {
	case path != nil:
		err = r.readScore(dir, *path, m)
	case list != nil && !list.classifies():
		return nil, &kernel.Error{Where: filepath.Join(dir, "modules.json") + ": the modules", Got: fmt.Sprintf("%d, which are no reranker", len(list)), Want: "Transformer, or Transformer and LogitScore"}
	case classified(main.Classes):
		if c.Pad != nil {
			r.Padding = *c.Pad
		}
	case card != nil:
		err = r.ofCard(card, m)
	default:
		return nil, m.Fault(configName, "architectures", fmt.Sprintf("%q", main.Classes), "one that ends in ForSequenceClassification, a modules.json with LogitScore, or a model of which is known that it is a reranker")
	}
	if err != nil {
		return nil, err
	}
	return r, r.readPrompt(dir, list != nil, card, m)
}

// readScore reads the tokens of LogitScore.
func (r *Ranking) readScore(dir, path string, m Model) error {
	name := path + "/" + configName
	if path == "" {
		return &kernel.Error{Where: filepath.Join(dir, "modules.json") + ": module 1", Got: `the path ""`, Want: "a folder below that of the model"}
	}
	var err error
	s := strict.ReadJSON(dir, filepath.FromSlash(name), &err, func(key, got, want string) error { return m.Fault(name, key, got, want) })
	r.Answers, r.First = true, true
	r.Yes = int32(s.Integer("true_token_id", 0, 0, m.Vocab-1))
	r.No = int32(s.Integer("false_token_id", -1, 0, m.Vocab-1))
	s.Only("module_input_name", "causal_logits")
	s.Unknown()
	return err
}

// ofCard takes the tokens of answers from a card.
func (r *Ranking) ofCard(c *card, m Model) error {
	t, err := m.Tokenizer()
	if err != nil {
		return err
	}
	r.Answers, r.First = true, true
	for _, x := range []struct {
		text string
		to   *int32
	}{{c.yes, &r.Yes}, {c.no, &r.No}} {
		id, ok := t.ID(x.text)
		if !ok {
			return m.Fault("tokenizer.json", "model.vocab", fmt.Sprintf("no token %q", x.text), "one: a "+c.mark+" answers with it")
		}
		*x.to = id
	}
	return nil
}

// readPrompt reads what a query and a passage become: the prompt of a card, the text of a chat
// template, or two texts as the tokenizer joins them. sentence-transformers chooses alike: a folder
// that it saved says whether the chat template counts, and in other folders it always does. A
// template that cannot write the two texts does not count in such a folder.
func (r *Ranking) readPrompt(dir string, saved bool, c *card, m Model) error {
	t, err := readTransformer(folder.Transformer(dir), m)
	if err == nil && saved {
		err = t.check(r.Answers, m)
	}
	if err != nil {
		return err
	}
	if r.Limit = t.limit; r.Limit == 0 {
		if r.Limit, err = readLimit(folder.Transformer(dir)); err != nil {
			return err
		}
	}
	before, err := readDefaultPrompt(dir, m)
	r.Prompt = func(m Model) (reranking.Prompt, error) {
		tok, err := m.Tokenizer()
		if err != nil {
			return nil, err
		}
		if c != nil && !saved {
			return reranking.NewTemplate(tok, c.template, c.instruction)
		}
		template, bad := m.Template()
		if bad == nil {
			chat := &reranking.Chat{Tokenizer: tok, Template: template, Answer: t.answer, Instruction: before}
			if bad = chat.CheckRoles(); bad == nil && (t.chats || !saved) {
				return chat, nil
			}
			bad = m.Fault(tokenizerName, "chat_template", fmt.Sprint(bad), "a template for messages of the roles query and document")
		}
		if t.chats {
			return nil, bad
		}
		return &reranking.TwoTexts{Tokenizer: tok, Before: before}, nil
	}
	return err
}

// mostLimit is the first limit that is none: some folders have 1e30.
const mostLimit = 1 << 24

// readLimit returns the limit of tokenizer_config.json, or 0.
func readLimit(dir string) (int, error) {
	var c struct {
		Most float64 `json:"model_max_length"` // which is 1e30 for none
	}
	if err := folder.ReadJSON(filepath.Join(dir, tokenizerName), &c); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	if c.Most >= 1 && c.Most < mostLimit {
		return int(c.Most), nil
	}
	return 0, nil
}

// readDefaultPrompt reads the text that sentence-transformers puts before every query.
func readDefaultPrompt(dir string, m Model) (string, error) {
	const name = "config_sentence_transformers.json"
	var c struct {
		Prompts map[string]string `json:"prompts"`
		Default *string           `json:"default_prompt_name"`
	}
	if err := folder.ReadJSON(filepath.Join(dir, name), &c); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if c.Default == nil {
		return "", nil
	}
	text, ok := c.Prompts[*c.Default]
	if !ok {
		return "", m.Fault(name, "default_prompt_name", fmt.Sprintf("%q", *c.Default), "one of the prompts")
	}
	return text, nil
}
