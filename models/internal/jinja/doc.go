// Package jinja renders templates in the language Jinja, as the Python library jinja2 3.1 does in
// the environment that transformers makes for chat templates: ImmutableSandboxedEnvironment with
// trim_blocks, lstrip_blocks, loopcontrols, and a tojson that escapes nothing for HTML. There are
// all of its statements but those that need other files (include, import, extends) and autoescape;
// its filters, tests and functions but the ones that a test of this package lists as unsupported;
// and Python's methods of strings, lists and mappings except bytes. All have the parameters that
// they have there: an argument that is not known is an error. What is not here is one too, when it
// is reached. testdata has what jinja2 makes of thousands of expressions.
//
// Values are Python's: map, select and others return streams, which are true and have their items
// once; a mapping has views; a range is no list. Integers have 64 bits, and more is an error.
// Nothing reads a clock or draws at random.
//
// It is no library of others because none limits the time, memory and stack of a template, nor
// tells the text of a message from the template's. Package chattemplate says which ones were tried.
//
// A template comes out of a file that somebody else made. So there is a limit on the work of a
// rendering, which covers its time and its memory, and there are limits on depth. All of it is
// charged to the meter of the rendering, before it is done: evaluating by eval, whatever an
// operation reads by apply, through which all filters, tests, methods, operators and functions are
// called, and what is made by the builder of strings, by list and by put. Every string knows the
// parts that come from the template and the parts that come from variables.
//
// Package syntax below parses, and package python has what is Python's of texts and numbers.
package jinja
