// Package serving is what commands share that serve models over HTTP: their flags, which load
// models and set limits, and listening.
package serving
