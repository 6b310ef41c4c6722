package testutil

import (
	"strings"
	"sync"
)

// A Buffer keeps what several goroutines write, such as a log.
type Buffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String returns what was written so far.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// Count returns how often the buffer has a text.
func (b *Buffer) Count(text string) int { return strings.Count(b.String(), text) }
