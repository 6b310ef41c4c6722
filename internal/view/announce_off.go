//go:build !race

package view

import "unsafe"

// Races tells whether the race detector watches the program.
const Races = false

// announce does nothing: nobody watches.
func announce(Access, unsafe.Pointer, int) {}
