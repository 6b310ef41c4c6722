package batch

import "slices"

// A fair queue holds what waits, in a line for each key. The key comes next that has had the least
// work; of equal ones, the one that was first. A key that begins, at first or after a pause, begins
// where the others are, or, if nobody works, where the one is that had the most: it has not saved
// anything up.
type fair[T any] struct {
	lines []*line[T] // of the keys that were seen, in their order
	count int        // of what waits
}

// A line is what waits of one key.
type line[T any] struct {
	key   string
	work  int // that the key has had
	items []T
	users int // items that were taken and whose work is not over
}

// mostIdle is how many keys without work the queue remembers.
const mostIdle = 1024

// line returns the line of a key. One that is not active has at least the least work of those that
// are, or, if none is, the most work of all.
func (q *fair[T]) line(key string) *line[T] {
	var found *line[T]
	least, most, active := 0, 0, false
	for _, l := range q.lines {
		if l.key == key {
			found = l
		}
		most = max(most, l.work)
		if l.active() && (!active || l.work < least) {
			least, active = l.work, true
		}
	}
	if !active {
		least = most
	}
	if found == nil {
		if len(q.lines) >= mostIdle {
			q.lines = slices.DeleteFunc(q.lines, func(l *line[T]) bool { return !l.active() })
		}
		found = &line[T]{key: key}
		q.lines = append(q.lines, found)
	}
	if !found.active() {
		found.work = max(found.work, least)
	}
	return found
}

// active tells whether a key has work.
func (l *line[T]) active() bool { return len(l.items) > 0 || l.users > 0 }

// take removes the first item, in fair order, that is wanted, and returns it with its line.
func (q *fair[T]) take(wanted func(T) bool) (item T, from *line[T], ok bool) {
	if q.count == 0 {
		return item, nil, false
	}
	order := slices.Clone(q.lines)
	slices.SortStableFunc(order, func(a, b *line[T]) int { return a.work - b.work })
	for _, l := range order {
		for i, item := range l.items {
			if wanted(item) {
				l.items = slices.Delete(l.items, i, i+1)
				l.users++
				q.count--
				return item, l, true
			}
		}
	}
	return item, nil, false
}

// putBack undoes take. The key stays active meanwhile, so that it loses nothing of its turn.
func (q *fair[T]) putBack(l *line[T], item T) {
	l.items = slices.Insert(l.items, 0, item)
	l.users--
	q.count++
}

// remove takes away what is to go.
func (q *fair[T]) remove(gone func(T) bool) {
	q.count = 0
	for _, l := range q.lines {
		l.items = slices.DeleteFunc(l.items, gone)
		q.count += len(l.items)
	}
}
