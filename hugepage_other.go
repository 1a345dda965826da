//go:build !linux

package tracelayer

// adviseHuge is for Linux.
func adviseHuge[T any]([]T) {}
