package server

import "context"

// A share bounds what requests do at once that takes far more memory than their bodies: rendering
// templates and encoding texts, of which the largest take some 60 bytes for each byte.
type share struct {
	turn  chan struct{} // of the one that takes units next, so that no two wait for each other with some of them
	units chan struct{} // those that are taken
}

// shareUnit is how many bytes of a body count as one unit. A smaller body is one, too.
const shareUnit = 64 << 10

// newShare returns a share for bodies of so many bytes together.
func newShare(bytes int64) share {
	return share{make(chan struct{}, 1), make(chan struct{}, max(1, bytes/shareUnit))}
}

// take waits until there is room for a body, and returns what gives it back.
func (s *share) take(ctx context.Context, bytes int) (release func(), err error) {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-s.turn }()
	n := min(bytes/shareUnit+1, cap(s.units))
	for i := range n {
		select {
		case s.units <- struct{}{}:
		case <-ctx.Done():
			s.give(i)
			return nil, ctx.Err()
		}
	}
	return func() { s.give(n) }, nil
}

func (s *share) give(n int) {
	for range n {
		<-s.units
	}
}
