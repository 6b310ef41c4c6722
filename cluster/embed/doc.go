// Package embed computes the sentence embeddings of a corpus on many machines, with the bits
// of one. A [Client] cuts the corpus into jobs and puts them into a JetStream work queue,
// each [Worker] takes one at a time, and the client writes the vectors to files in the order
// of the input.
//
// # Exactly once
//
// Every job is done at least once: it stays in the queue until its result is stored, and what
// the client's journal lacks after a crash, the client asks for again. A job that is done twice has the
// same result to the bit, whichever worker on whichever CPU does it, so that the client keeps
// one and drops the other: the files have each text once. The hash of a job's content says
// what a result belongs to, and the subject where it goes: a queue holds at most one message
// for each place of a run, so that sending twice changes nothing.
//
// # Order and memory
//
// The client has at most [Options.Window] jobs under way, counted from the first one whose
// result is missing. That bounds the texts and vectors in its memory, and the messages in the
// server. If the server's streams are full, clients and workers wait and try again.
//
// # Faults
//
// A worker that dies or stands still loses its job to another one after the acknowledgement
// wait. A text on which every worker dies takes its job to the largest number of deliveries;
// the client then sends its texts one by one, and the text alone is rejected. A client goes on
// where its journal ends. What a server lost the client sends again.
package embed
