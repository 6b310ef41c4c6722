package regular

import "fmt"

// A Limit is what functions of this package panic with where an automaton would take too
// much memory or time.
type Limit struct {
	What string // such as "classes of characters"
	Most int
}

// Error returns "more than MOST WHAT".
func (e *Limit) Error() string { return fmt.Sprintf("more than %d %s", e.Most, e.What) }
