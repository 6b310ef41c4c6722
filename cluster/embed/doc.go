// Package embed makes vectors of the texts of a corpus on many machines, with the bits of one. A
// [Client] cuts the corpus into jobs, has the workers of package relay do them as requests for
// embeddings, and writes the vectors to files in the order of the input.
//
// # Exactly once
//
// What the client's journal lacks after a crash, the client asks for again. A job that is done
// twice has the same result to the bit, whichever worker on whichever CPU does it. So the files
// have each text once.
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
// A worker that dies or does not answer loses its jobs to others. A text on which every worker dies
// takes its job to the largest number of tries; the client then sends the texts of the job one by
// one, each while no other job of the run is under way, and the text alone is rejected. A client
// goes on where its journal ends.
package embed
