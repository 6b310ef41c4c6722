package tokenizer

import (
	"encoding/json"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/internal/strict"
)

const settingsFile = "tokenizer_config.json"

// settings is what tokenizer_config.json says beside the roles of tokens. Which keys count depends
// on the class of transformers that it names.
type settings struct {
	keys  bertSettings  // as the file has them
	bert  *bertSettings // that change tokenizer.json: for classes of BERT's kind
	lower bool          // a text becomes lower case before all else
	space *bool         // add_prefix_space, of classes with byte-level BPE or Unigram
	side  bool          // the file has truncation_side
	left  bool          // which is left: what is left out of a text that is too long is its beginning
}

// bertSettings are the settings of BertNormalizer that tokenizer_config.json has, or else the
// class.
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
	debertaKind
)

// classes are those whose settings change what tokenizer.json says, in versions 4 and 5.24 of
// transformers: BERT's kind and byte-level BPE even by their defaults, Unigram's kind if
// add_prefix_space is there, DeBERTa's if do_lower_case is true.
var classes = map[string]class{
	"BertTokenizer": bertKind, "DistilBertTokenizer": bertKind, "ElectraTokenizer": bertKind, "MPNetTokenizer": bertKind,
	"GPT2Tokenizer": byteLevelKind, "RobertaTokenizer": byteLevelKind, "Qwen2Tokenizer": byteLevelKind,
	"CamembertTokenizer": unigramKind, "XLMRobertaTokenizer": unigramKind, "DebertaV2Tokenizer": debertaKind,
}

// classOf are the classes of transformers for model_type of config.json, if tokenizer_config.json
// names none. Where it is "", no other class counts either.
var classOf = map[string]string{
	"bert": "BertTokenizer", "distilbert": "BertTokenizer", "nomic_bert": "BertTokenizer", "mpnet": "MPNetTokenizer",
	"roberta": "RobertaTokenizer", "xlm-roberta": "XLMRobertaTokenizer", "qwen2": "Qwen2Tokenizer", "qwen3": "Qwen2Tokenizer", "qwen3_moe": "Qwen2Tokenizer",
	"deberta-v2": "DebertaV2Tokenizer", "modernbert": "", "mistral": "", "phi3": "",
}

// modelSettings are keys of config.json that the class depends on.
type modelSettings struct {
	Model string `json:"model_type"`
	Class string `json:"tokenizer_class"`
}

// class returns the class for the one in tokenizer_config.json, which may be "".
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

// settingsKeys are the keys of tokenizer_config.json, beside the keys that settingsNames knows by
// their ends. Keys without particular values are read, here or elsewhere, or do not decide the
// tokens of a text: transformers 5.24 reads them for other things, or not at all.
var settingsKeys = strict.Table{
	"do_lower_case": strict.Only("true", "false"), "tokenize_chinese_chars": strict.Only("true", "false"),
	"strip_accents": strict.Only("true", "false", "null"), "add_prefix_space": strict.Only("true", "false", "null"),
	"truncation_side":      strict.Only(`"left"`, `"right"`),
	"split_special_tokens": strict.Only("false", "null"),
	"split_by_punct":       strict.Only("false", "null"),
	"init_inputs":          strict.None,
}.Add(strict.Any,
	// They are read; do_basic_tokenize beside vocab.txt alone.
	"model_max_length", "max_len", "tokenizer_class", "model_input_names", "chat_template", "do_basic_tokenize",

	// tokenizer.json has its own.
	"add_bos_token", "add_eos_token", "added_tokens_decoder", "added_tokens", "clean_text", "cls_token_id",
	"fix_mistral_regex", "keep_accents", "legacy", "never_split", "normalization", "normalize", "remove_space",
	"do_lower", "sp_model_kwargs", "unk_id", "use_regex", "vocab_size", "vocab_type", "wordpieces_prefix",

	// They say where a file came from, or what other programs do with it.
	"auto_map", "backend", "from_slow", "is_fast", "is_local", "local_files_only", "merges_file", "model_type",
	"name_or_path", "processor_class", "spm_file", "special_tokens_map_file", "tokenizer_file",
	"full_tokenizer_file", "tokenizer_type", "transformers_version", "cache_dir", "device_map", "dtype",
	"torch_dtype", "subfolder", "trust_remote_code", "use_fast", "vocab_file", "verbose", "revision",

	// The caller decides on cutting and padding, and decodes as tokenizer.json says.
	"clean_up_tokenization_spaces", "errors", "max_length", "pad_to_multiple_of", "padding", "padding_side",
	"pad_token_type_id", "return_attention_mask", "return_token_type_ids", "spaces_between_special_tokens",
	"stride", "trim_offsets", "truncation", "truncation_strategy",

	// They are for pairs of languages, images, sounds and conversations.
	"extra_ids", "language", "language_codes", "legacy_behaviour", "max_model_input_sizes", "response_schema",
	"response_template", "separate_vocabs", "source_lang", "src_lang", "target_lang", "task", "tgt_lang",
	"tokenize_newlines", "use_default_system_prompt", "image_size", "patch_size", "max_pixels", "min_pixels",
)

// settingsNames are the ends of keys that name tokens, such as image_token; tokenizer.json has the
// same names.
var settingsNames = []string{"_token", "_tokens", "_token_id", "_token_ids"}

// readSettings reads tokenizer_config.json, which may be nil, and reports a key that is not known.
func readSettings(data []byte, m modelSettings) (*settings, error) {
	s := &settings{}
	var all map[string]json.RawMessage
	if data != nil {
		if err := json.Unmarshal(data, &all); err != nil {
			return nil, &kernel.Error{Where: "tokenizer: " + settingsFile, Got: err.Error(), Want: "the settings of a tokenizer"}
		}
	}
	unusual := map[string]json.RawMessage{}
	for key, value := range all {
		if _, listed := settingsKeys[key]; listed || !namesToken(key) {
			unusual[key] = value
		}
	}
	if p := strict.Check(unusual, settingsKeys); p != nil {
		return nil, &kernel.Error{Where: "tokenizer: " + settingsFile + ": " + p.Key, Got: p.Got, Want: p.Want}
	}
	c := struct {
		bertSettings
		Class string `json:"tokenizer_class"`
		Space *bool  `json:"add_prefix_space"`
		Side  string `json:"truncation_side"`
	}{bertSettings: bertSettings{Lower: true, CJK: true, Split: true}}
	if data != nil {
		if err := json.Unmarshal(data, &c); err != nil {
			return nil, &kernel.Error{Where: "tokenizer: " + settingsFile, Got: err.Error(), Want: "the settings of a tokenizer"}
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
	case debertaKind:
		s.lower = string(all["do_lower_case"]) == "true"
	}
	return s, nil
}

// namesToken tells whether a key names a token, or programs keep it for themselves.
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
