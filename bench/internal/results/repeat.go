package results

import (
	"cmp"
	"slices"
)

// AddRuns adds repetitions to a file of the first run. Each row is taken from the repetition with
// the median time, or the faster of the two in the middle, and lists the times of all repetitions.
func (f *File) AddRuns(others []*File) {
	medians(f, others, func(f *File) []Speed { return f.Speed }, func(r *Speed) (float64, *[]float64) { return r.Ns, &r.Runs })
	medians(f, others, func(f *File) []Option { return f.Options }, func(r *Option) (float64, *[]float64) { return r.With, &r.Runs })
	medians(f, others, func(f *File) []Linear { return f.Linear }, func(r *Linear) (float64, *[]float64) { return r.Ns, &r.Runs })
	medians(f, others, func(f *File) []Backward { return f.Backward }, func(r *Backward) (float64, *[]float64) { return r.Ns, &r.Runs })
	medians(f, others, func(f *File) []Decode { return f.Decode }, func(r *Decode) (float64, *[]float64) { return r.Ns, &r.Runs })
	medians(f, others, func(f *File) []Model { return f.Models }, func(r *Model) (float64, *[]float64) { return r.Ns, &r.Runs })
}

// medians replaces the rows of one list. time returns the time of a row, and where the times of all
// repetitions belong. All repetitions have the same rows; after an interrupt the last one has
// fewer.
func medians[R any](f *File, others []*File, list func(f *File) []R, time func(r *R) (float64, *[]float64)) {
	own := list(f)
	for i := range own {
		rows, times := []R{}, []float64{}
		for _, run := range append([]*File{f}, others...) {
			if all := list(run); i < len(all) {
				ns, _ := time(&all[i])
				rows, times = append(rows, all[i]), append(times, ns)
			}
		}
		if len(rows) == 1 {
			continue
		}
		slices.SortStableFunc(rows, func(a, b R) int {
			x, _ := time(&a)
			y, _ := time(&b)
			return cmp.Compare(x, y)
		})
		own[i] = rows[(len(rows)-1)/2]
		_, all := time(&own[i])
		*all = times
	}
}
