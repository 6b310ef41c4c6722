package tokenizer

import (
	"encoding/json"
	"strings"

	"github.com/attn-go/attn/models/internal/knownkeys"
)

const settingsFile = "tokenizer_config.json"

// settings is what tokenizer_config.json says beside the roles of tokens. Which keys count depends on the class of
// transformers that it names.
type settings struct {
	keys  bertSettings  // as the file has them
	bert  *bertSettings // that change tokenizer.json: those of classes of BERT's kind
	space *bool         // add_prefix_space, of classes with byte-level BPE or Unigram
	side  bool          // the file has truncation_side
	left  bool          // which is left: what is left out of a text that is too long is its beginning
}

// bertSettings are those of BertNormalizer that tokenizer_config.json has, or else the class.
type bertSettings struct {
	Lower   bool  `json:"do_lower_case"`
	Accents *bool `json:"strip_accents"`
	CJK     bool  `json:"tokenize_chinese_chars"`
	Split   bool  `json:"do_basic_tokenize"`
}

// A class is what classes of transformers' tokenizers have in common.
type class int

const (
	generic class = iota // tokenizer.json says all
	bertKind
	byteLevelKind
	unigramKind
)

// classes are those whose settings change what tokenizer.json says, in versions 4 and 5.24 of transformers: BERT's kind
// and byte-level BPE even by their defaults, Unigram's kind if add_prefix_space is there.
var classes = map[string]class{
	"BertTokenizer": bertKind, "DistilBertTokenizer": bertKind, "ElectraTokenizer": bertKind, "MPNetTokenizer": bertKind,
	"GPT2Tokenizer": byteLevelKind, "RobertaTokenizer": byteLevelKind, "Qwen2Tokenizer": byteLevelKind,
	"CamembertTokenizer": unigramKind, "XLMRobertaTokenizer": unigramKind,
}

// classOf are the classes of transformers for model_type of config.json, if tokenizer_config.json names none. Where
// it is "", no other class counts either.
var classOf = map[string]string{
	"bert": "BertTokenizer", "distilbert": "BertTokenizer", "nomic_bert": "BertTokenizer", "mpnet": "MPNetTokenizer",
	"roberta": "RobertaTokenizer", "xlm-roberta": "XLMRobertaTokenizer", "qwen2": "Qwen2Tokenizer", "qwen3": "Qwen2Tokenizer", "qwen3_moe": "Qwen2Tokenizer",
	"modernbert": "", "mistral": "", "phi3": "",
}

// modelSettings are keys of config.json that the class depends on.
type modelSettings struct {
	Model string `json:"model_type"`
	Class string `json:"tokenizer_class"`
}

// class returns the class for that of tokenizer_config.json, which may be "".
func (m *modelSettings) class(name string) class {
	if name == "" {
		name = m.Class
	}
	own, known := classOf[m.Model]
	if name == "" || known && own == "" {
		name = own
	}
	return classes[strings.TrimSuffix(name, "Fast")]
}

// settingsKeys are the keys of tokenizer_config.json, beside those that settingsNames knows by their ends. They are read, here or
// elsewhere, or have no part in what a text's tokens are: transformers 5.24 reads them for decoding, padding, pairs of
// languages, images and sounds, files in other formats, or not at all.
var settingsKeys = knownkeys.Table{
	"do_lower_case": knownkeys.Only("true", "false"), "tokenize_chinese_chars": knownkeys.Only("true", "false"),
	"strip_accents": knownkeys.Only("true", "false", "null"), "add_prefix_space": knownkeys.Only("true", "false", "null"),
	"truncation_side": knownkeys.Only(`"left"`, `"right"`), "model_max_length": knownkeys.Any, "max_len": knownkeys.Any, "tokenizer_class": knownkeys.Any,
	"model_input_names": knownkeys.Any, "chat_template": knownkeys.Any, "do_basic_tokenize": knownkeys.Any, // false is an error beside vocab.txt

	"split_special_tokens": knownkeys.Only("false", "null"),
	"split_by_punct":       knownkeys.Only("false", "null"),
	"init_inputs":          knownkeys.None,

	// tokenizer.json has its own.
	"add_bos_token": knownkeys.Any, "add_eos_token": knownkeys.Any, "added_tokens_decoder": knownkeys.Any, "added_tokens": knownkeys.Any,
	"clean_text": knownkeys.Any, "cls_token_id": knownkeys.Any, "fix_mistral_regex": knownkeys.Any, "keep_accents": knownkeys.Any, "legacy": knownkeys.Any,
	"never_split": knownkeys.Any, "normalization": knownkeys.Any, "normalize": knownkeys.Any, "remove_space": knownkeys.Any, "do_lower": knownkeys.Any,
	"sp_model_kwargs": knownkeys.Any, "unk_id": knownkeys.Any, "use_regex": knownkeys.Any, "vocab_size": knownkeys.Any, "vocab_type": knownkeys.Any, "wordpieces_prefix": knownkeys.Any,

	// They say where a file came from, or what other programs do with it.
	"auto_map": knownkeys.Any, "backend": knownkeys.Any, "from_slow": knownkeys.Any, "is_fast": knownkeys.Any, "is_local": knownkeys.Any, "local_files_only": knownkeys.Any,
	"merges_file": knownkeys.Any, "model_type": knownkeys.Any, "name_or_path": knownkeys.Any, "processor_class": knownkeys.Any, "spm_file": knownkeys.Any,
	"special_tokens_map_file": knownkeys.Any, "tokenizer_file": knownkeys.Any, "full_tokenizer_file": knownkeys.Any, "tokenizer_type": knownkeys.Any,
	"transformers_version": knownkeys.Any, "cache_dir": knownkeys.Any, "device_map": knownkeys.Any, "dtype": knownkeys.Any, "torch_dtype": knownkeys.Any, "subfolder": knownkeys.Any,
	"trust_remote_code": knownkeys.Any, "use_fast": knownkeys.Any, "vocab_file": knownkeys.Any, "verbose": knownkeys.Any, "revision": knownkeys.Any,

	// The caller decides on cutting and padding, and decodes as tokenizer.json says.
	"clean_up_tokenization_spaces": knownkeys.Any, "errors": knownkeys.Any, "max_length": knownkeys.Any, "pad_to_multiple_of": knownkeys.Any, "padding": knownkeys.Any,
	"padding_side": knownkeys.Any, "pad_token_type_id": knownkeys.Any, "return_attention_mask": knownkeys.Any, "return_token_type_ids": knownkeys.Any, "spaces_between_special_tokens": knownkeys.Any, "stride": knownkeys.Any,
	"trim_offsets": knownkeys.Any, "truncation": knownkeys.Any, "truncation_strategy": knownkeys.Any,

	"extra_ids": knownkeys.Any, "language": knownkeys.Any, "language_codes": knownkeys.Any, "legacy_behaviour": knownkeys.Any, "max_model_input_sizes": knownkeys.Any, "response_schema": knownkeys.Any,
	"response_template": knownkeys.Any, "separate_vocabs": knownkeys.Any, "source_lang": knownkeys.Any, "src_lang": knownkeys.Any, "target_lang": knownkeys.Any, "task": knownkeys.Any, "tgt_lang": knownkeys.Any,
	"tokenize_newlines": knownkeys.Any, "use_default_system_prompt": knownkeys.Any, "image_size": knownkeys.Any, "patch_size": knownkeys.Any, "max_pixels": knownkeys.Any, "min_pixels": knownkeys.Any,
}

// settingsNames are the ends of keys that name tokens, such as image_token: those of tokenizer.json have the same names.
var settingsNames = []string{"_token", "_tokens", "_token_id", "_token_ids"}

// readSettings reads tokenizer_config.json, which may be nil, and reports a key that is not known.
func readSettings(data []byte, m modelSettings) (*settings, error) {
	s := &settings{}
	var all map[string]json.RawMessage
	if data != nil {
		if err := json.Unmarshal(data, &all); err != nil {
			return nil, &ConfigError{settingsFile, err.Error(), "the settings of a tokenizer"}
		}
	}
	unusual := map[string]json.RawMessage{}
	for key, value := range all {
		if _, listed := settingsKeys[key]; listed || !namesToken(key) {
			unusual[key] = value
		}
	}
	if p := settingsKeys.Check(unusual); p != nil {
		return nil, &ConfigError{settingsFile + ": " + p.Key, p.Got, p.Want}
	}
	c := struct {
		bertSettings
		Class string `json:"tokenizer_class"`
		Space *bool  `json:"add_prefix_space"`
		Side  string `json:"truncation_side"`
	}{bertSettings: bertSettings{Lower: true, CJK: true, Split: true}}
	if data != nil {
		if err := json.Unmarshal(data, &c); err != nil {
			return nil, &ConfigError{settingsFile, err.Error(), "the settings of a tokenizer"}
		}
	}
	s.keys, s.side, s.left = c.bertSettings, c.Side != "", c.Side == "left"
	switch m.class(c.Class) {
	case bertKind:
		s.bert = &s.keys
	case byteLevelKind:
		s.space = c.Space
		if s.space == nil {
			s.space = new(bool)
		}
	case unigramKind:
		s.space = c.Space
	}
	return s, nil
}

// namesToken tells whether a key names a token, or is one of those that programs keep for themselves.
func namesToken(key string) bool {
	for _, end := range settingsNames {
		if strings.HasSuffix(key, end) {
			return true
		}
	}
	return strings.HasPrefix(key, "_")
}

// change makes a part of tokenizer.json what the settings say.
func (s *settings) change(p *jsonPart) {
	switch {
	case p.Type == "BertNormalizer" && s.bert != nil:
		p.Lower, p.Accents, p.CJK = &s.bert.Lower, s.bert.Accents, &s.bert.CJK
	case p.Type == "ByteLevel" && s.space != nil:
		p.Prefix = json.RawMessage("false")
		if *s.space {
			p.Prefix = json.RawMessage("true")
		}
	case p.Type == "Metaspace" && s.space != nil:
		scheme := "never"
		if *s.space {
			scheme = "always"
		}
		p.Prefix, p.Scheme = nil, &scheme
	}
}
