// Package regex matches the regular expressions by which tokenizers split texts.
//
// It has the syntax and the preference of Oniguruma, which is what Hugging Face's tokenizers use,
// as far as one pass over a text can decide: alternatives, groups, classes, greedy and lazy
// repetitions, and looking ahead at one character, as in \s+(?!\S). Package regexp of Go does not
// look ahead. Others do with backtracking, whose time an expression out of a file can make as long
// as it likes.
//
// An expression becomes a deterministic automaton over classes of characters that it does not tell
// apart, when it is compiled. A step of a match is then two look-ups in tables. After [MaxAhead]
// characters in which a match was not complete it is given up, so that the time for a text is in
// proportion to its length for any expression.
package regex
