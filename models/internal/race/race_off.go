//go:build !race

// Package race tells tests whether the race detector is on, under which they take longer and
// allocate more.
package race

// Enabled tells whether the race detector is on.
const Enabled = false
