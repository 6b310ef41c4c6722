package grammar

import "fmt"

// An automataLimit is what this package panics with where an automaton would take too much
// memory or time.
type automataLimit struct {
	What string // such as "classes of characters"
	Most int
}

// Error returns "more than MOST WHAT".
func (e *automataLimit) Error() string { return fmt.Sprintf("more than %d %s", e.Most, e.What) }
