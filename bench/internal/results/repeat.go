package results

import (
	"cmp"
	"slices"
)

// AddRuns adds the rows of repetitions of some suites. Of each row it takes that of the
// repetition with the median time, or the faster one of the two in the middle, and lists the
// times of all repetitions in it. What has no times is that of the first repetition.
func (f *File) AddRuns(runs []*File) {
	if len(runs) == 0 {
		return
	}
	addMedians(f, runs, func(f *File) *[]Option { return &f.Options }, func(r *Option) (float64, *[]float64) { return r.With, &r.Runs })
	addMedians(f, runs, func(f *File) *[]Linear { return &f.Linear }, func(r *Linear) (float64, *[]float64) { return r.Ns, &r.Runs })
	addMedians(f, runs, func(f *File) *[]Backward { return &f.Backward }, func(r *Backward) (float64, *[]float64) { return r.Ns, &r.Runs })
	addMedians(f, runs, func(f *File) *[]Decode { return &f.Decode }, func(r *Decode) (float64, *[]float64) { return r.Ns, &r.Runs })
	addMedians(f, runs, func(f *File) *[]Decode { return &f.Groups }, func(r *Decode) (float64, *[]float64) { return r.Ns, &r.Runs })
	addMedians(f, runs, func(f *File) *[]Queries { return &f.Queries }, func(r *Queries) (float64, *[]float64) { return r.Ns, &r.Runs })
	addMedians(f, runs, func(f *File) *[]Model { return &f.Models }, func(r *Model) (float64, *[]float64) { return r.Ns, &r.Runs })
	first := runs[0]
	if first.Accuracy != nil {
		f.Accuracy = first.Accuracy
	}
	f.NotRun = append(f.NotRun, first.NotRun...)
}

// addMedians adds the rows of one list. time returns the time of a row, and where those of all
// repetitions belong. All repetitions have the same rows, but an interrupted one has fewer.
func addMedians[R any](f *File, runs []*File, list func(f *File) *[]R, time func(r *R) (float64, *[]float64)) {
	to := list(f)
	for i := range *list(runs[0]) {
		var rows []R
		var times []float64
		for _, run := range runs {
			if all := *list(run); i < len(all) {
				ns, _ := time(&all[i])
				rows, times = append(rows, all[i]), append(times, ns)
			}
		}
		slices.SortStableFunc(rows, func(a, b R) int {
			x, _ := time(&a)
			y, _ := time(&b)
			return cmp.Compare(x, y)
		})
		median := rows[(len(rows)-1)/2]
		if len(rows) > 1 {
			_, all := time(&median)
			*all = times
		}
		*to = append(*to, median)
	}
}
