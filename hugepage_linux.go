package tracelayer

import (
	"syscall"
	"unsafe"
)

const (
	hugePage     = 2 << 20
	madvHugePage = 14 // MADV_HUGEPAGE, madvise(2); package syscall has no name for it
)

// adviseHuge asks the kernel to back the reserved room of s with large pages.
// Filling fresh memory page by page would take a tenth of the time of reading
// a trace. It is a hint: nothing depends on whether it is taken.
func adviseHuge[T any](s []T) {
	var size = cap(s) * int(unsafe.Sizeof(*new(T)))
	if size < 2*hugePage {
		return
	}
	room := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), size)
	skip := int(-uintptr(unsafe.Pointer(&room[0])) & (hugePage - 1)) // to the first whole page
	_ = syscall.Madvise(room[skip:skip+(size-skip)&^(hugePage-1)], madvHugePage)
}
