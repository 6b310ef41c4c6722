package testutil

import (
	"fmt"
	"net"
	"os"
	"sync"
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

// The ports that FreePort gives are below those that most systems give to programs that want any.
// They make blocks, each for the process that listens on its first port.
const (
	firstPort = 12000
	blockSize = 100
	blocks    = 180
)

var ports struct {
	sync.Mutex
	block int            // that is tried next, modulo blocks
	next  int            // port that is tried next
	owned []net.Listener // on the first ports of this process's blocks
}

// FreePort returns a port of this machine on which nobody listens, and which no other test gets,
// also of other processes, so that a server can leave it for a while.
func FreePort() int {
	ports.Lock()
	defer ports.Unlock()
	if len(ports.owned) == 0 {
		ports.block = os.Getpid() // another process begins elsewhere
	}
	for {
		for ports.next%blockSize == 0 {
			first := firstPort + ports.block%blocks*blockSize
			ports.block++
			if l, err := listen(first); err == nil {
				ports.owned, ports.next = append(ports.owned, l), first+1
			}
		}
		port := ports.next
		ports.next++
		if l, err := listen(port); err == nil {
			l.Close()
			return port
		}
	}
}

func listen(port int) (net.Listener, error) {
	return net.Listen("tcp", fmt.Sprint("127.0.0.1:", port))
}
