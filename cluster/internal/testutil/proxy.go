package testutil

import "testing"

// Proxy is [Listen] until the test ends.
func Proxy(t testing.TB, target string, see func(data []byte)) (url string) {
	t.Helper()
	url, stop, err := Listen(target, see)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return url
}
