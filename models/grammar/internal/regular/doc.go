// Package regular has sets of texts as automata over characters: those of a regular expression
// of ECMA-262, of a format of JSON Schema, of numbers within bounds, and what and, or and not make
// of them. It has classes of characters and their UTF-8 too.
//
// Expressions come from anywhere, and an automaton can be far larger than what it is made of.
// Functions of this package panic with a [Limit] then, as package grammar recovers where it
// compiles.
package regular
