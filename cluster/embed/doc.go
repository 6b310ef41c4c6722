// Package embed makes vectors of the texts of a corpus on many machines, with the bits of one. A
// [Client] cuts the corpus into jobs, has the workers of package relay do them as requests for
// embeddings, and writes the vectors to files in the order of the input.
//
// # Exactly once
//
// After a crash, the client repeats the jobs that its journal lacks. A job has the same result to
// the bit each time, on any worker and any CPU. So the files have each text once.
//
// # Order and memory
//
// The client has at most [Options.Window] jobs under way, counted from the first one whose result
// is missing. That bounds the texts and vectors in its memory. Workers share their time between the
// runs that ask them, and refuse what they have no room for; the client then waits and tries again.
// Nothing lies on the server.
//
// # Faults
//
// If a worker dies or does not answer, others get its jobs. If every worker dies on a text, its job
// reaches the largest number of tries. Then the client sends the texts of the job one by one, while
// no other job of the run is under way, and rejects the text that fails. A client continues where
// its journal ends.
package embed
