package tier

// A CPU is what tuning numbers are chosen by.
type CPU struct {
	Name string // for which there are entries
	Rule string // what tells the name: see the rules
}

// The rules, in the order in which they are tried.
const (
	ByModel    = "by vendor, family and model"
	ByFeatures = "by its features" // virtual machines report models of other CPUs
	ByNone     = "no rule knows it"
)
