//go:build !linux

package hugepages

// replace does nothing: on this system the package cannot ask for huge pages.
func replace[E any]([]byte, *E) {}
