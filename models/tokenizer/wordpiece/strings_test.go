package wordpiece_test

import (
	"path/filepath"
	"testing"
)

// The ids of random strings, with characters of all categories, are those of the reference
// implementation, see ../testdata/strings-wordpiece.py.
func TestStrings(t *testing.T) {
	checkTexts(t, load(t), filepath.Join("..", "testdata", "strings-wordpiece.json"))
}
