package regular

// A Limit is what functions of this package panic with where an automaton would take too
// much memory or time.
type Limit struct {
	What string // such as "classes of characters"
	Most int
}
