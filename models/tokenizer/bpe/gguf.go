package bpe

import (
	"fmt"

	"github.com/attn-go/attn/models/gguf"
)

// FromGGUF returns the tokenizer that a GGUF file has. Errors are of type *ConfigError or
// *gguf.KeyError.
func FromGGUF(f *gguf.File) (*Tokenizer, error) {
	model, err := f.String("tokenizer.ggml.model")
	if err != nil {
		return nil, err
	}
	if model != "gpt2" {
		return nil, &ConfigError{"tokenizer.ggml.model", fmt.Sprintf("%q", model), `"gpt2", which is byte-level BPE`}
	}
	var c Config
	if c.Tokens, err = f.Strings("tokenizer.ggml.tokens"); err != nil {
		return nil, err
	}
	if c.Merges, err = f.Strings("tokenizer.ggml.merges"); err != nil {
		return nil, err
	}
	if c.Pre, err = f.String("tokenizer.ggml.pre"); err != nil {
		return nil, err
	}
	llama := c.Pre == "llama-bpe" // what files of such models do not say
	c.WholePieces, c.AddBOS = llama, llama
	if err := c.readTypes(f); err != nil {
		return nil, err
	}
	if err := c.readSpecial(f); err != nil {
		return nil, err
	}
	return New(c)
}

// readTypes reads the types of tokens, which a file need not have.
func (c *Config) readTypes(f *gguf.File) error {
	const key = "tokenizer.ggml.token_type"
	if _, ok := f.Value(key); !ok {
		return nil
	}
	types, err := f.Ints(key)
	if err != nil {
		return err
	}
	c.Types = make([]Type, len(types))
	for i, t := range types {
		if t < int64(Normal) || t > int64(Byte) {
			return &ConfigError{fmt.Sprintf("type of token %d", i), fmt.Sprint(t), "1 to 6"}
		}
		c.Types[i] = Type(t)
	}
	return nil
}

// readSpecial reads the ids of special tokens and where they belong, as far as a file has them.
func (c *Config) readSpecial(f *gguf.File) error {
	c.IDs = map[string]int32{}
	for _, role := range [...]string{BOS, EOS, EOT, EOM, Padding} {
		key := "tokenizer.ggml." + role + "_token_id"
		if _, ok := f.Value(key); !ok {
			continue
		}
		id, err := f.Int(key)
		if err != nil {
			return err
		}
		if id < 0 || id >= int64(len(c.Tokens)) {
			return &ConfigError{key, fmt.Sprint(id), fmt.Sprintf("0 to %d", len(c.Tokens)-1)}
		}
		c.IDs[role] = int32(id)
	}
	for key, to := range map[string]*bool{"tokenizer.ggml.add_bos_token": &c.AddBOS, "tokenizer.ggml.add_eos_token": &c.AddEOS} {
		if _, ok := f.Value(key); !ok {
			continue
		}
		add, err := f.Bool(key)
		if err != nil {
			return err
		}
		*to = add
	}
	return nil
}
