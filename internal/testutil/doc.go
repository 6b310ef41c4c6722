// Package testutil is for tests alone, and imported by tests alone: numbers that are
// the same on every machine, comparison to the bit, slices between canaries or guard
// pages, exact counts of allocations, and how thoroughly to test.
package testutil
