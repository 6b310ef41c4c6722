// Package parallel runs the tasks of a call on several goroutines.
//
//   - A [Group] hands out the tasks of one call to the caller and to workers of the pool.
//   - The pool is shared by all groups. Its workers spin for a short time after a job, so
//     that the next one starts at once, and then park.
//   - [Threads] is the heuristic for the number of threads that a call is worth.
//   - A [FreeList] recycles scratch memory, so that in the steady state a call allocates
//     nothing. [Memory] counts it, so that what no call needs is freed.
//
// A goroutine begins with the same part of the tasks in every call, if they are independent, but
// which ones it does in the end is up to the scheduler. Results must not depend on it.
package parallel
