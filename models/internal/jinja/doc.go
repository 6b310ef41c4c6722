// Package jinja renders templates in the part of the language Jinja that chat templates of models
// use, as the Python library jinja2 does with trim_blocks and lstrip_blocks. There are if, for with
// break and continue, set, macro, filter and raw blocks, and the filters, tests and methods that
// templates of well-known models call; there are no files, no includes and no calls into Go.
//
// It is no library of others because none limits the time, memory and stack of a template, nor tells
// the text of a message from that of the template. Package chattemplate says which ones were tried.
//
// A template comes out of a file that somebody else made. So there is a limit on the work of a
// rendering, which covers its time and its memory, and there are limits on depth. All of it is
// charged to the meter of the rendering, before it is done: evaluating by eval, whatever an
// operation reads by apply, through which all filters, tests, methods, operators and functions are
// called, and what is made by the builder of strings, by list and by put. Every string knows which
// of its parts come from the template and which from the variables that it was given.
package jinja
