package hugepages

import (
	"io/fs"
	"math"
	"os"
	"path"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync"

	"github.com/attn-go/attn/internal/ints"
)

// groupLimit is the most bytes that the control groups of this process give it when it starts, as a
// container's do. Linux grants more, and ends the process when it uses it.
var groupLimit = sync.OnceValue(func() int64 { return limitOf(os.DirFS("/")) })

// limitOf reads the limit in the files of a system: the least of the group of this process and of
// those above it, in version 2 of control groups or version 1. Where there is none it is
// math.MaxInt64.
func limitOf(root fs.FS) int64 {
	groups, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return math.MaxInt64
	}
	least := int64(math.MaxInt64)
	for line := range strings.Lines(string(groups)) { // NUMBER:CONTROLLERS:PATH
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) < 3 {
			continue
		}
		folder, file := "sys/fs/cgroup", "memory.max"
		if parts[1] != "" {
			if !strings.Contains(","+parts[1]+",", ",memory,") {
				continue
			}
			folder, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		}
		for group := path.Clean("/" + parts[2]); ; group = path.Dir(group) {
			text, err := fs.ReadFile(root, path.Join(folder, group, file))
			if n, numErr := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && numErr == nil { // not "max"
				least = min(least, n)
			}
			if group == "/" {
				break
			}
		}
	}
	return least
}

// groupHas tells whether the control groups have so many bytes beside what this program has.
// Garbage is none of it: before it says no, it is collected and given back.
func groupHas(bytes int) bool {
	limit := groupLimit()
	if limit == math.MaxInt64 {
		return true
	}
	left := func() bool { return int64(ints.AddSat(bytes, int(min(held(), math.MaxInt)))) <= limit }
	if int64(bytes) > limit || left() {
		return int64(bytes) <= limit
	}
	debug.FreeOSMemory()
	return left()
}

// held returns the bytes that the runtime has of the system.
func held() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() - samples[1].Value.Uint64()
}
