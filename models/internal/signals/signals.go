// Package signals tells which signals a command reacts to.
package signals

import (
	"os"
	"os/signal"
)

// NotIgnored returns the signals that this process does not ignore. Under nohup it ignores SIGHUP,
// and so do the commands that it starts.
func NotIgnored[S os.Signal](all ...S) (list []S) {
	for _, s := range all {
		if !none && !signal.Ignored(s) {
			list = append(list, s)
		}
	}
	return list
}
