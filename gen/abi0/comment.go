package abi0

import (
	"strings"
	"unicode/utf8"
)

// commentColumns is the most columns of a line of a comment.
const commentColumns = 100

// Comment returns the lines of the comment of a stub, without slashes.
func Comment(doc string) (lines []string) {
	const slashes = len("// ")
	line := ""
	for _, word := range strings.Fields(doc) {
		switch {
		case line == "":
			line = word
		case slashes+utf8.RuneCountInString(line+" "+word) > commentColumns:
			lines, line = append(lines, line), word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}
