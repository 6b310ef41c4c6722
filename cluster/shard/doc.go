// Package shard computes attention over keys and values that several machines hold, with
// the bits that one machine gives.
//
// Workers hold blocks of 256 keys in memory. A [Client] appends keys and values to a [Sequence],
// which places every block on some of the workers, and calls attention: it sends the queries to the
// workers, gets what each block contributes (kernel.Partials) and merges the blocks in their order.
// Every bit of the result equals kernel.Attention over all keys, whatever the tiers of the workers,
// their number, and whoever answers.
//
// A worker that is late or gone costs time: the client asks another one that holds the block. If
// there is none left, the call returns a [*BlocksError] that names the blocks, and the output is
// untouched.
//
// [Client.Create] puts a sequence into a directory, from which any other client can [Client.Open]
// it, read it and go on with it. Workers copy its blocks again when others are gone;
// [Client.Repair] does so for a sequence that only its client knows.
//
// The client is where all partials arrive: 4·(2+ValueSize) bytes for every block, query and
// head. DESIGN.md in the folder above says when that pays.
package shard
