package parallel

import (
	"slices"
	"testing"
)

// TestPartsInOrder: a goroutine takes the tasks of its part in ascending order, and then the tasks
// of the parts after it.
func TestPartsInOrder(t *testing.T) {
	c := newCall()
	for _, x := range []struct {
		tasks, threads, part int
		want                 []int
	}{
		{7, 1, 0, []int{0, 1, 2, 3, 4, 5, 6}},
		{7, 3, 0, []int{0, 1, 2, 3, 4, 5, 6}},
		{7, 3, 1, []int{2, 3, 4, 5, 6, 0, 1}},
		{7, 3, 2, []int{4, 5, 6, 0, 1, 2, 3}},
		{7, 3, 5, []int{4, 5, 6, 0, 1, 2, 3}},
		{2, 3, 1, []int{0, 1}}, // the first part is empty
		{2, 3, 2, []int{1, 0}},
	} {
		var got []int
		c.during = func(task int) { got = append(got, task) }
		c.number = 1 // the next call is independent
		c.run(t, "parts", x.tasks, x.threads, 0, func(_ int, task func(i int)) { task(x.part) })
		if !slices.Equal(got, x.want) {
			t.Errorf("%d tasks, %d threads, part %d: tasks %d, want %d", x.tasks, x.threads, x.part, got, x.want)
		}
	}
}

// TestWorkersHaveParts: a worker has the same part in every call, and not the caller's.
func TestWorkersHaveParts(t *testing.T) {
	j := new(job)
	part := make(chan int, 1)
	j.init(func(p int) { part <- p })
	for range 3 {
		w := submitOne(j)
		if p := <-part; p != 1+w.number {
			t.Errorf("worker %d has part %d, want %d", w.number, p, 1+w.number)
		}
		j.wait()
	}
}
