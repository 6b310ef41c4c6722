// Package tokenizer turns texts into the token ids of a model and back, with what the model's file
// or folder says of it.
//
//	t, err := tokenizer.Load(dir)      // tokenizer.json or vocab.txt, as Hugging Face has them
//	t, err := tokenizer.FromGGUF(file) // tokenizer.ggml.model of bert, gemma4, gpt2, llama or t5
//	ids := t.Encode("The cat sits.", tokenizer.Options{Limit: 512})
//	ids, types := t.EncodePair(query, passage, tokenizer.Options{Limit: 512})
//	text := t.Decode(ids, false)
//
// A text is cut at added tokens, normalized, cut at added tokens that are normalized, too, and
// split into pieces. A vocabulary makes tokens of each piece: WordPiece, BPE of bytes, BPE of
// characters with bytes for unknown ones, or SentencePiece's Unigram. A template puts special
// tokens around them.
//
// The ids equal the ids of Hugging Face's tokenizers 0.23 for files of every kind, see
// testdata/make.py, and SentencePiece's for GGUF files with its vocabularies. They differ for some
// hundreds of rare characters, as the categories, decompositions and lower case of Unicode 15.0 are
// used here, and where an expression that splits texts looks ahead for more than 1,024 characters.
//
// Files can come from anywhere: what is not supported is an error, and neither memory nor time for
// a text grows beyond what its length and the file's size account for.
package tokenizer
