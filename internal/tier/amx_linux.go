//go:build amd64 && !purego

package tier

import "syscall"

// requestTiles asks for the permission to use tiles, for all threads of the process. Linux refuses
// it if it has not enabled tiles in XCR0, or if the signal stack of a thread has no room for their
// state; Go's have.
func requestTiles() (fault string) {
	const archReqXcompPerm, tileData = 0x1023, 18
	if _, _, errno := syscall.RawSyscall(syscall.SYS_ARCH_PRCTL, archReqXcompPerm, tileData, 0); errno != 0 {
		return "not used, as the operating system refuses it: " + errno.Error()
	}
	return ""
}
