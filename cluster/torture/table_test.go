//go:build unix

package torture

import (
	"errors"
	"fmt"
	"io"
)

// An outcome is what became of a run that was disturbed.
type outcome struct {
	errors int    // runs that ended with an error, after which the same command was started again
	missed bool   // the fault met no client at work, or nothing to damage
	wrong  bool   // a run ended well with other bits than those of one machine
	never  bool   // no run ended well
	detail string // of a bad outcome
}

// String describes the outcome.
func (o outcome) String() string {
	switch {
	case o.wrong:
		return "WRONG: " + o.detail
	case o.never:
		return "NO RESULT: " + o.detail
	case o.missed:
		return "missed"
	case o.errors > 0:
		return fmt.Sprintf("equal, after %d errors", o.errors)
	}
	return "equal"
}

// A table counts outcomes by fault.
type table struct {
	faults []fault
	counts []counts
}

// counts are numbers of tries. Those that missed are no others.
type counts struct{ tries, missed, equal, late, wrong, never int }

func newTable(faults []fault) *table { return &table{faults, make([]counts, len(faults))} }

// add counts an outcome of a fault.
func (t *table) add(fault int, o outcome) {
	c := &t.counts[fault]
	switch {
	case o.wrong:
		c.wrong++
	case o.never:
		c.never++
	case o.missed:
		c.missed++
		return
	case o.errors > 0:
		c.late++
	default:
		c.equal++
	}
	c.tries++
}

// finish writes the table, and returns an error if err is one or an outcome was bad.
func (t *table) finish(out io.Writer, err error) error {
	fmt.Fprintln(out, "| what runs | fault, in mid-run | tries | missed | equal | an error, then equal | no result | wrong |\n|---|---|---|---|---|---|---|---|")
	bad := 0
	for i, f := range t.faults {
		c := t.counts[i]
		bad += c.wrong + c.never
		fmt.Fprintf(out, "| %s | %s | %d | %d | %d | %d | %d | %d |\n", f.work.name, f.name, c.tries, c.missed, c.equal, c.late, c.never, c.wrong)
	}
	if bad > 0 {
		err = errors.Join(err, fmt.Errorf("%d bad outcomes", bad))
	}
	return err
}
