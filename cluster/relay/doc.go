// Package relay puts servers of package server behind one address: a [Gateway] passes requests to
// [Worker]s over NATS, and streams their answers back.
//
// A request has the same answer on every worker. So it does no harm if a worker is lost during an
// answer: the gateway asks another worker, which answers from the beginning. The gateway compares
// that with what the client has, and passes on the rest. So a client gets the bytes of one server.
//
// Workers of one gateway must have one fingerprint, see server.Server.SystemFingerprint. A worker
// with another one ends with an error of the kind [ErrFingerprint].
//
// # Messages
//
// Requests go to the subject relay.ask.FP, after the prefix of the cluster, where FP is the
// fingerprint: all workers with it are one queue group. A conversation goes to the inbox of the
// worker that gave the last answer, as that has the keys and values, and to the others if that
// worker does not take it. Then the gateway and the worker talk through inboxes of their own. With
// the roles of package access nobody else can read these.
//
// A message has a header in JSON, and raw bytes of a request or of an answer. Neither side holds
// more than a window of 256 KiB of an answer, which has left the worker and not reached the client.
// A gateway and a worker that wait for each other ask whether the other one is there. NATS tells at
// once if it is not.
package relay
