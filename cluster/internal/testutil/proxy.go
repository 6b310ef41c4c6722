package testutil

import (
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"testing"
)

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

// nextPort is the port that FreePort tries next. They are below those that most systems give to
// programs that want any.
var nextPort atomic.Int64

// FreePort returns a port of this machine on which nobody listens, and which no other test of the
// process gets.
func FreePort() int {
	nextPort.CompareAndSwap(0, 12000+int64(os.Getpid()%18000)) // another process begins elsewhere
	for {
		port := int(nextPort.Add(1))
		if l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", port)); err == nil {
			l.Close()
			return port
		}
	}
}
