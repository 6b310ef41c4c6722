//go:build js || wasip1

package signals

import "os"

// Ending is empty: nobody sends a signal to a program of WebAssembly.
var Ending []os.Signal

const none = true // and package signal panics when it is asked about one
