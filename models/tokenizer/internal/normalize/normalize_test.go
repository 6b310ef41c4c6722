package normalize

import (
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"
)

// Forms equal package norm's where it puts nothing between marks.
func TestWholeForms(t *testing.T) {
	for _, text := range []string{"", "a", "e\u0301\u0323", "ñ한글각ﬁ½Å", "\u1100\u1161\u11a8x", "q\u0307\u0323\u0301", "\u0301a", "\u0915\u093c", "ﷺ①ｶﾞ", "a\u0323\u0302b\u0302\u0323"} {
		for _, f := range []norm.Form{norm.NFC, norm.NFD, norm.NFKC, norm.NFKD} {
			if got, want := applyWhole(f, text), f.String(text); got != want {
				t.Errorf("form %d of %q: got %q, want %q", f, text, got, want)
			}
		}
	}
}

// Marks are sorted and joined over any number of them, with nothing put between.
func TestManyMarks(t *testing.T) {
	nfc, _ := Form("NFC")
	text := "e" + strings.Repeat("\u0301", 40) + "\u0323"
	if got, want := nfc(text), "ẹ"+strings.Repeat("\u0301", 40); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestValid(t *testing.T) {
	for text, want := range map[string]string{
		"aé": "aé", "\xff": "\ufffd", "\xe2\x82": "\ufffd", "\xe2\x82a": "\ufffda", "\xf0\x9f\x98x\x80\x80": "\ufffdx\ufffd\ufffd",
		"\xed\xa0\x80": "\ufffd\ufffd\ufffd", "\xc0\xaf": "\ufffd\ufffd",
	} {
		if got := Valid(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
