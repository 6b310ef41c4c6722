// Package contracttest is for tests alone, and imported by tests alone. It holds what
// tests of whole calls share:
//
//   - [Case], a full call with its data, on memory with canaries in all gaps
//   - [Mask], a mask that is also told pair by pair, independently of package mask
//   - [Model], the numeric contract of package contract, row by row and key by key
//   - functions that look into a kernel.Tensor and compare two of them to the bit
//   - [EachTier] and [ForceThreads], which vary how calls are executed
package contracttest
