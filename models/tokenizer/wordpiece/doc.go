// Package wordpiece turns texts into the token ids of BERT-type models, as class BertTokenizer
// of Hugging Face's libraries does.
//
// A text is cleaned of control characters, split into words at white space and around every
// punctuation sign and CJK ideograph, freed of accents and lower-cased. Of every word the longest
// known prefix becomes a token, then the longest known continuation (in the vocabulary it begins
// with ##), and so on. A word whose rest is not known, or of more than 100 characters, becomes the
// token [UNK]. Encode takes time in proportion to the length of the text, but for long runs of
// accents, whatever the vocabulary.
//
// The categories of characters, decompositions and lower case are those of Unicode 15.0, as Go
// 1.26 has them. The reference implementation in Rust has older tables of categories and newer ones
// of lower case: the two differ in some hundreds of rare characters, most of which a vocabulary
// does not have anyway.
//
// This is not package hftokenizer of github.com/gomlx/go-huggingface v0.3.5, which gives the same
// ids for the reference texts, but counts bytes and not characters against the limit of 100 and
// takes quadratic time: 5.4 s for a text of 35 kB that takes 2 ms here.
package wordpiece
