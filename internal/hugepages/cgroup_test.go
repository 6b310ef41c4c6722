package hugepages

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"
	"testing/fstest"
)

// The least limit of the groups of a process counts, of either version of control groups.
func TestLimitOf(t *testing.T) {
	for what, c := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"no groups":                             {nil, math.MaxInt64},
		"no limit":                              {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n"}, math.MaxInt64},
		"a container":                           {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "419430400\n"}, 400 << 20},
		"a group":                               {map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "1000\n", "sys/fs/cgroup/a/memory.max": "2000\n"}, 1000},
		"one above it":                          {map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "max\n", "sys/fs/cgroup/a/memory.max": "2000\n"}, 2000},
		"a container with the path of its host": {map[string]string{"proc/self/cgroup": "0::/../../host\n", "sys/fs/cgroup/memory.max": "3000\n"}, 3000},
		"version 1": {map[string]string{"proc/self/cgroup": "12:cpu,cpuacct:/x\n5:memory:/x\n0::/\n",
			"sys/fs/cgroup/memory/x/memory.limit_in_bytes": "4000\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 4000},
		"nonsense": {map[string]string{"proc/self/cgroup": "x\n\n1:2\n0::/\n", "sys/fs/cgroup/memory.max": "many"}, math.MaxInt64},
	} {
		root := fstest.MapFS{}
		for name, text := range c.files {
			root[name] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := limitOf(root); got != c.want {
			t.Errorf("%s: %d, want %d", what, got, c.want)
		}
	}
}

// What is more than the limit of the groups, with what the program has, is refused.
func TestFitsGroup(t *testing.T) {
	old := groupLimit
	defer func() { groupLimit = old }()
	debug.FreeOSMemory() // what other tests have left
	has := int(held())
	groupLimit = func() int64 { return int64(has) + 4*certain }
	if !Fits(2*certain, 1) {
		t.Error("what the group has does not fit")
	}
	groupLimit = func() int64 { return int64(has) + certain }
	if Fits(2*certain, 1) {
		t.Error("more than the group has fits")
	}
	garbage := make([]byte, 8*certain)
	has = int(held())
	groupLimit = func() int64 { return int64(has) + certain }
	if Fits(4*certain, 1) {
		t.Error("what others use fits")
	}
	runtime.KeepAlive(garbage)
	if !Fits(4*certain, 1) {
		t.Error("what garbage has does not fit")
	}
}
