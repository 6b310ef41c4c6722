package machine

import "testing"

func TestStealPercent(t *testing.T) {
	before := parseCPUTimes("cpu  100 0 100 800 0 0 0 0 0 0\ncpu0 1 1 1 1 1 1 1 1 1 1")
	now := parseCPUTimes("cpu  200 0 100 850 0 0 0 50 0 0")
	if p := before.StealPercent(now); p == nil || *p != 25 {
		t.Errorf("steal %v, want 25", p)
	}
	for _, stat := range []string{"", "cpu 1 2", "cpu a b c d e f g h", "intr 1 2 3 4 5 6 7 8 9"} {
		if got := parseCPUTimes(stat); got != (CPUTimes{}) || got.StealPercent(got) != nil {
			t.Errorf("%q: %v", stat, got)
		}
	}
}

// A description has what every results file needs.
func TestDescribe(t *testing.T) {
	if m := Describe(); m.CPU == "" || m.CPUs < 1 || m.GOMAXPROCS < 1 {
		t.Errorf("%+v", m)
	}
	if tiers := TierInfos(); len(tiers) == 0 || tiers[len(tiers)-1].Name != Generic {
		t.Errorf("%+v", tiers)
	}
	if b := Build(); b.Go == "" || b.GOARCH == "" {
		t.Errorf("%+v", b)
	}
}

func TestBandwidths(t *testing.T) {
	all := Bandwidths([]int{1})
	if len(all) != 4 || all[3].Level != "memory" {
		t.Fatalf("%+v", all)
	}
	for _, b := range all {
		if b.GBs <= 0 || b.Bytes <= 0 {
			t.Errorf("%+v", b)
		}
	}
}
