package cli

import (
	"os"
	"runtime/debug"
)

// limitMemory is the one place where a command sets the collector. The aim is
// a peak of 64 MB plus 64 bytes a kernel. A kernel takes 32 bytes in the
// trace, so the heap may outgrow what is alive by less than the default's
// 100 %; half of that costs little, since reading allocates almost nothing.
// GOGC and GOMEMLIMIT keep their meaning when they are set.
func limitMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50)
	}
}

// Version is the module's version as the build recorded it, "devel" for a
// build that records none.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return info.Main.Version
}
