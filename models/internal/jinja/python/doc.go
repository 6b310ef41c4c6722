// Package python does with numbers and strings of Go what Python does with its own: how they are
// written, formatted, rounded, read, and converted in case. Templates of package jinja expect that.
package python
