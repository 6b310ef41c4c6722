// Package serving has what commands share that serve models over HTTP: the flags, which load models
// and set limits, and the listening.
package serving
