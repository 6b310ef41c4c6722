package kernel

import "github.com/attn-go/attn/internal/ukernel"

// TierInfo describes one tier of this build.
type TierInfo struct {
	Name    string
	Runs    bool   // whether this CPU can run it
	Reason  string // why it cannot run, "" if it can
	Default bool   // whether it is used by calls that name no tier
}

// Tiers lists the tiers of this build, best first, with the reasons why some cannot
// run here.
func Tiers() []TierInfo {
	def, _ := ukernel.Default()
	infos := make([]TierInfo, len(ukernel.Tiers))
	for i := range ukernel.Tiers {
		t := &ukernel.Tiers[i]
		reason := t.Lacks()
		infos[i] = TierInfo{Name: t.Name, Runs: reason == "", Reason: reason, Default: t == def}
	}
	return infos
}
