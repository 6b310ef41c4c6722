package testutil

import (
	"net"
	"strings"
)

// Listen passes connections on to a server, nats://HOST:PORT, until stop is called, and returns the
// URL to which programs on this machine connect. see is called with all bytes that pass, before
// they go on; it may change them or take its time, and is for several goroutines at once.
func Listen(target string, see func(data []byte)) (url string, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", strings.TrimPrefix(target, "nats://"))
			if err != nil {
				in.Close()
				continue
			}
			go pass(in, out, see)
			go pass(out, in, see)
		}
	}()
	return "nats://" + l.Addr().String(), func() { l.Close() }, nil
}

// pass copies what one side sends until either ends.
func pass(from, to net.Conn, see func(data []byte)) {
	defer from.Close()
	defer to.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		see(buffer[:n])
		if err != nil {
			return
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}
