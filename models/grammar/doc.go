// Package grammar limits what a language model may write to texts of a grammar, in llama.cpp's GBNF
// or made from a JSON Schema.
//
//	g, err := grammar.FromSchema(schema) // or grammar.Parse(text)
//	x, err := g.Matcher(vocabulary)
//	words, err := x.Mask()  // which tokens may follow
//	err = x.Accept(id)
//
// decoder.GenerateOptions.Grammar does that. A token may follow if some text of the
// grammar begins with what there is then: so a text can always be completed, and it may
// end only where it is complete. Tokens are taken for their bytes, wherever they begin and
// end in the grammar or in a character.
//
// # How
//
// A rule becomes an automaton over bytes, which calls the automata of other rules. All ways in
// which a text can be read are followed at once, as a set of stacks of positions that share what
// they have in common. Equal sets are one set, whose steps by a byte and whose tokens are computed
// once and kept. The tokens are found by a walk through the trie of the vocabulary; as most of them
// end within the rule on top of the stack, they are kept for the tops of stacks, and only the
// others are looked at again for each stack.
//
// A JSON Schema becomes shapes: a set of values is some shapes, of which each has values
// of one kind with all that is said of them. So sets can be joined, and their contrary be
// found, which is what allOf, anyOf, oneOf, not and if ask for. Strings and numbers are
// automata over characters; which members and items may follow depends on those that there
// are, so that positions in arrays and objects are made when a text leads there.
//
// Grammars may come from anywhere. Their text, positions, repetitions and nesting are
// limited, and so are the ways to read a text, the depth of its rules and the memory for
// what is kept: beyond that is an error of the kind [ErrLimit].
package grammar
