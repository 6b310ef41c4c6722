package server

import (
	"context"
	"sync"

	"github.com/attn-go/attn/models/decoder"
)

// An answer is a text that grows while somebody reads it. The scheduler adds tokens and never waits for
// the reader; the number of tokens of an answer is limited.
type answer struct {
	mu     sync.Mutex
	tokens []decoder.Token
	over   bool
	err    error
	wake   chan struct{}

	taken int // tokens that were read
}

func newAnswer() *answer { return &answer{wake: make(chan struct{}, 1)} }

func (a *answer) notify() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

func (a *answer) add(t decoder.Token) {
	a.mu.Lock()
	a.tokens = append(a.tokens, t)
	a.mu.Unlock()
	a.notify()
}

func (a *answer) finish(err error) {
	a.mu.Lock()
	a.over, a.err = true, err
	a.mu.Unlock()
	a.notify()
}

// next returns the next token, and waits for it. After the last one, or if the text has ended by an
// error, that is the error.
func (a *answer) next(ctx context.Context) (decoder.Token, error) {
	for {
		a.mu.Lock()
		if a.taken < len(a.tokens) {
			t := a.tokens[a.taken]
			a.taken++
			a.mu.Unlock()
			return t, nil
		}
		over, err := a.over, a.err
		a.mu.Unlock()
		if over {
			if err == nil {
				err = errEnds
			}
			return decoder.Token{}, err
		}
		select {
		case <-a.wake:
		case <-ctx.Done():
			return decoder.Token{}, ctx.Err()
		}
	}
}
