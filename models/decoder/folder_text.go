package decoder

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/internal/filemap"
	"github.com/attn-go/attn/models/internal/folder"
	"github.com/attn-go/attn/models/internal/strict"
	"github.com/attn-go/attn/models/tokenizer"
)

const (
	tokenizerFile  = "tokenizer_config.json"
	generationFile = "generation_config.json"
	templateFile   = "chat_template.jinja"
)

// fromFolder reads the tokens of a folder. The embedding may have more rows than there are tokens.
func (v *vocabulary) fromFolder(dir string, size int) (err error) {
	if v.tokenizer, v.tokenizerErr = tokenizer.Load(dir); v.tokenizerErr == nil && v.tokenizer.Len() > size {
		return &kernel.Error{Where: "tokenizer.json: model.vocab", Got: fmt.Sprintf("%d tokens", v.tokenizer.Len()), Want: fmt.Sprintf("at most %d, the rows of the embedding", size)}
	}
	var s tokenizerConfig
	if err := folder.ReadJSON(filepath.Join(dir, tokenizerFile), &s); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if v.stop, err = v.folderStop(dir, s.EOS.text, size); err != nil {
		return err
	}
	v.template, v.templateErr = s.read(dir)
	return nil
}

// A tokenizerConfig is what tokenizer_config.json says beside the tokenizer.
type tokenizerConfig struct {
	Template json.RawMessage `json:"chat_template"`
	BOS      tokenText       `json:"bos_token"`
	EOS      tokenText       `json:"eos_token"`
}

// A tokenText is the text of a token, which stands for itself or in an object.
type tokenText struct{ text string }

// UnmarshalJSON reads either form.
func (t *tokenText) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, &t.text) == nil {
		return nil
	}
	var o struct{ Content string }
	err := json.Unmarshal(data, &o)
	t.text = o.Content
	return err
}

// read parses the template, which tokenizer_config.json has, or a file of its own.
func (c *tokenizerConfig) read(dir string) (*chattemplate.Template, error) {
	o := chattemplate.Options{BOS: c.BOS.text, EOS: c.EOS.text}
	switch data, err := filemap.ReadFile(filepath.Join(dir, templateFile)); {
	case err == nil:
		return chattemplate.NewWith(string(data), o)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	want := "a template, or a list of templates with one that is named default"
	var text string
	if c.Template == nil {
		return nil, &kernel.Error{Where: tokenizerFile + ": chat_template", Got: "none", Want: want}
	}
	if json.Unmarshal(c.Template, &text) == nil {
		return chattemplate.NewWith(text, o)
	}
	var list []struct{ Name, Template string }
	if json.Unmarshal(c.Template, &list) == nil {
		for _, t := range list {
			if t.Name == "default" {
				return chattemplate.NewWith(t.Template, o)
			}
		}
	}
	return nil, &kernel.Error{Where: tokenizerFile + ": chat_template", Got: strict.Abbreviated(c.Template), Want: want}
}

// folderStop returns the tokens that end a text: from generation_config.json, or else from
// config.json, and the one that the tokenizer names.
func (v *vocabulary) folderStop(dir, eos string, size int) (stop []int32, err error) {
	for _, name := range []string{generationFile, configFile} {
		c := strict.ReadJSON(dir, name, &err, func(key, got, want string) error {
			return &kernel.Error{Where: name + ": " + key, Got: got, Want: want}
		})
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
			continue
		}
		var ids json.RawMessage
		c.Read("eos_token_id", "a token or a list of tokens", &ids)
		if name == generationFile {
			c.Unknown(strict.Generation)
		}
		if err != nil {
			return nil, err
		}
		if stop, err = idsOf(name, ids, size); err != nil || len(stop) > 0 {
			break
		}
	}
	if err == nil && v.tokenizerErr == nil && eos != "" {
		if id, ok := v.tokenizer.ID(eos); ok && !slices.Contains(stop, id) {
			stop = append(stop, id)
		}
	}
	return stop, err
}

// idsOf reads a token or a list of tokens.
func idsOf(file string, value json.RawMessage, size int) ([]int32, error) {
	if value == nil || string(value) == "null" {
		return nil, nil
	}
	var ids []int32
	var one int32
	if json.Unmarshal(value, &one) == nil {
		ids = []int32{one}
	} else if json.Unmarshal(value, &ids) != nil {
		return nil, &kernel.Error{Where: file + ": eos_token_id", Got: strict.Abbreviated(value), Want: "a token or a list of tokens"}
	}
	for _, id := range ids {
		if id < 0 || int(id) >= size {
			return nil, &kernel.Error{Where: file + ": eos_token_id", Got: fmt.Sprint(id), Want: fmt.Sprintf("0 to %d", size-1)}
		}
	}
	return ids, nil
}
