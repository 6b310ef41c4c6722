// Package batch decides which requests a model computes together. It knows nothing of HTTP. A model
// is the texts of a [decoder.Session], or of one in its place in a test, see [Session], and the
// tokens of a [Task] are those that its functions choose.
//
// A [Scheduler] runs a language model with continuous batching. In every step, all answers that run
// get one token, and prompts are read in chunks beside them:
//
//   - Requests join and leave at every step.
//   - Of keys with waiting requests, the one comes next that has had the fewest tokens.
//   - Tokens at the start of a text that an earlier or a running text has, too, are not computed
//     again. While another request is about to compute them, a request waits for it.
//   - If there are too few pages, the prefixes that were used least recently go, and then the
//     request that began last. It is computed again later, up to where it was.
//   - A request whose context has ended is gone, with its pages, before the next step.
//
// Nothing of this changes an answer: the logits after a token have the same bits in any batch,
// chunk, fork and recomputation.
//
// A [Pool] does the same for work without state, such as embeddings. [Turns] shares the cores
// between several of both.
package batch
