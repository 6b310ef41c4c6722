// Package options has the fields of requests that say how a text is continued: how tokens are
// drawn, how many there may be, where a text ends and what it must be. It makes options of package
// decoder and grammars of them, and knows nothing of the server; a fault is an error that names the
// field.
package options
