// Package regular has sets of texts as automata over characters: from a regular expression of
// ECMA-262, a format of JSON Schema or numbers within bounds, joined by and, or and not. It has
// classes of characters and their UTF-8 too.
//
// Expressions come from anywhere, and an automaton can be far larger than what it is made of.
// Functions of this package panic with a [Limit] then, as package grammar recovers where it
// compiles.
package regular
