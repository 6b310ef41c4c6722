//go:build (!amd64 && !arm64 && !riscv64) || purego

package tier

// There is no assembly here, so no feature matters.
const featureNames = "a build with assembly"

func isFeature(string) bool { return false }

func hostLacks(string) bool { return true }
