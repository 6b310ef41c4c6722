package relay

import (
	"hash/maphash"
	"sync"

	"github.com/attn-go/attn/models/server"
)

// An affinity remembers which worker has answered a conversation last, as it has the keys and
// values of what was said so far.
type affinity struct {
	seed maphash.Seed

	mu      sync.Mutex
	workers map[uint64]string // mailboxes, by the hash of the messages of a request
	order   []uint64          // of the entries, a ring; its next place holds the oldest one
	next    int
}

// remembered is the number of requests of which an affinity knows the worker.
const remembered = 1 << 14

func newAffinity() *affinity {
	return &affinity{seed: maphash.MakeSeed(), workers: map[uint64]string{}}
}

// conversation returns hashes of the first turn of a conversation, the first two and so on.
func (a *affinity) conversation(r *server.Call) (hashes []uint64) {
	var h maphash.Hash
	h.SetSeed(a.seed)
	for _, turn := range r.Conversation {
		h.Write(turn)
		hashes = append(hashes, h.Sum64())
	}
	return hashes
}

// worker returns the one that has answered the most messages of a conversation, or "".
func (a *affinity) worker(conversation []uint64) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := len(conversation) - 1; i >= 0; i-- {
		if w := a.workers[conversation[i]]; w != "" {
			return w
		}
	}
	return ""
}

// remember notes that a worker answers a conversation.
func (a *affinity) remember(conversation []uint64, worker string) {
	if len(conversation) == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	key := conversation[len(conversation)-1]
	if _, known := a.workers[key]; !known {
		if len(a.order) < remembered {
			a.order = append(a.order, key)
		} else {
			delete(a.workers, a.order[a.next])
			a.order[a.next] = key
			a.next = (a.next + 1) % remembered
		}
	}
	a.workers[key] = worker
}
