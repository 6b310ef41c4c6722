// Package relay puts servers of package server behind one address: a [Gateway] hands requests on to
// [Worker]s over NATS, and their answers back while they are made.
//
// As the same request has the same answer on every worker, a worker that is lost in the middle of
// an answer does no harm: the gateway asks another one, which answers from the beginning, compares
// what the client has got with that, and hands on the rest. So a client gets the bytes of one
// server.
//
// Workers of one gateway must have one fingerprint, see server.Server.SystemFingerprint: workers
// with another one end with an error of the kind [ErrFingerprint], and would not be asked.
//
// # Messages
//
// Requests go to the subject relay.ask.FP, after the prefix of the cluster, where FP is the
// fingerprint: all workers of it are one queue group. A conversation goes to the inbox of the
// worker that has answered what was said before, which has its keys and values, and to the others
// if that worker does not take it. What a gateway and a worker have to say to each other afterwards
// goes to inboxes of theirs, of which with the roles of package access nobody else can hear.
//
// A message has a header in JSON, and raw bytes of a request or of an answer. At most 256 KiB of an
// answer, a window, have left the worker and have not reached the client; neither side holds more.
// A gateway and a worker that wait for each other ask whether the other one is there. NATS says at
// once if it is not.
package relay
