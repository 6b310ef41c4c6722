package contracttest

import (
	"errors"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
)

// CheckArgument fails the test unless err is a *kernel.Error about arg of a function, whose text
// contains want. what names the call in the message.
func CheckArgument(t testing.TB, what string, err error, arg, want string) {
	t.Helper()
	var e *kernel.Error
	if !errors.As(err, &e) || e.Arg() != arg || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: got %v, want an Error about %s that says %q", what, err, arg, want)
	}
}
