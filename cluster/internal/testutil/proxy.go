package testutil

import (
	"testing"

	"github.com/attn-go/attn/cluster/internal/proxy"
)

// Proxy is [proxy.Listen] until the test ends.
func Proxy(t testing.TB, target string, see func(data []byte)) (url string) {
	t.Helper()
	url, stop, err := proxy.Listen(target, see)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return url
}
