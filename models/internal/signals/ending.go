//go:build !js && !wasip1

package signals

import (
	"os"
	"syscall"
)

// Ending are the signals that end a program, beside [os.Interrupt]: what kill and service managers
// send, and the end of the terminal.
var Ending = []os.Signal{syscall.SIGTERM, syscall.SIGHUP}

const none = false // there are signals
