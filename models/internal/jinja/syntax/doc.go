// Package syntax parses templates in the language Jinja, as the Python library jinja2 3.1 does with
// trim_blocks, lstrip_blocks and loopcontrols: into tokens, and those into statements and
// expressions. It does nothing with them, and knows of names what frames set and read.
//
// How deep blocks and expressions may lie within each other is limited, so that no template makes
// a stack overflow.
package syntax
