package wordpiece

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// Load reads the tokenizer of a folder as Hugging Face has it: from tokenizer.json, or, if there is
// none, from vocab.txt and, if there is one, tokenizer_config.json. What these say on cutting and
// padding is ignored: Encode's caller decides.
//
// Errors are of type *ConfigError or, if a file cannot be read, *fs.PathError.
func Load(dir string) (*Tokenizer, error) {
	return LoadWith(dir, nil)
}

// LoadWith is Load with a function that may change the options that were read, such as PlainText.
func LoadWith(dir string, change func(*Options)) (*Tokenizer, error) {
	if change == nil {
		change = func(*Options) {}
	}
	data, err := os.ReadFile(filepath.Join(dir, "tokenizer.json"))
	if err == nil {
		return parse(data, change)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(dir, "vocab.txt"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &ConfigError{dir, "neither tokenizer.json nor vocab.txt", "one of them"}
	}
	if err != nil {
		return nil, err
	}
	vocab, err := lines(text)
	if err != nil {
		return nil, err
	}
	opts, err := settings(filepath.Join(dir, "tokenizer_config.json"))
	if err != nil {
		return nil, err
	}
	change(&opts)
	return New(vocab, opts)
}

// lines returns the lines of vocab.txt.
func lines(text []byte) ([]string, error) {
	if !utf8.Valid(text) {
		return nil, &ConfigError{"vocab.txt", "bytes that are not UTF-8", "text"}
	}
	vocab := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	for i, line := range vocab {
		vocab[i] = strings.TrimSuffix(line, "\r")
	}
	return vocab, nil
}

// settings reads tokenizer_config.json.
func settings(path string) (Options, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Options{}, nil
	}
	if err != nil {
		return Options{}, err
	}
	config := struct {
		Lower   bool  `json:"do_lower_case"`
		Accents *bool `json:"strip_accents"`
		CJK     bool  `json:"tokenize_chinese_chars"`
		Split   bool  `json:"do_basic_tokenize"`
	}{Lower: true, CJK: true, Split: true}
	if err := json.Unmarshal(data, &config); err != nil {
		return Options{}, &ConfigError{"tokenizer_config.json", err.Error(), "the settings of a tokenizer"}
	}
	if !config.Split {
		return Options{}, &ConfigError{"tokenizer_config.json: do_basic_tokenize", "false", "true"}
	}
	return options(config.Lower, config.Accents, config.CJK), nil
}

// options returns Options as Hugging Face's settings are meant: unless it is said whether accents
// are stripped, they go with the case.
func options(lower bool, strip *bool, cjk bool) Options {
	accents := lower
	if strip != nil {
		accents = *strip
	}
	return Options{KeepCase: !lower, KeepAccents: !accents, KeepCJK: !cjk}
}

func unexpected(item string, got any, want string) error {
	return &ConfigError{"tokenizer.json: " + item, fmt.Sprint(got), want}
}
