//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// describe says on what and when was measured. What cannot be found out is
// left out or unknown.
func describe(ctx context.Context, python bool) []string {
	versions := runtime.Version()
	if python {
		versions += ", " + output(ctx, "python3", "--version")
	}
	lines := []string{
		fmt.Sprintf("%s, commit %s", time.Now().Format(time.DateOnly), commit(ctx)),
		fmt.Sprintf("%s/%s, %s, %d CPUs%s", runtime.GOOS, runtime.GOARCH, procValue("/proc/cpuinfo", "model name"), runtime.NumCPU(), memory()),
		versions,
	}
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		lines = append(lines, "load before the first run: "+strings.Join(strings.Fields(string(load))[:3], " "))
	}
	return lines
}

// commit names the commit and says whether the files are those of the commit.
// Nothing is locked: others may use the repository.
func commit(ctx context.Context) string {
	id := output(ctx, "git", "rev-parse", "--short", "HEAD")
	if changes, err := exec.CommandContext(ctx, "git", "--no-optional-locks", "status", "--porcelain", "--untracked-files=no").Output(); err == nil && len(changes) > 0 {
		id += " with changes"
	}
	return id
}

func output(ctx context.Context, name string, args ...string) string {
	out, err := exec.CommandContext(ctx, name, args...).Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

func memory() string {
	kB, err := strconv.ParseInt(strings.TrimSuffix(procValue("/proc/meminfo", "MemTotal"), " kB"), 10, 64)
	if err != nil {
		return ""
	}
	return fmt.Sprintf(", %.1f GB of memory", float64(kB)*1024/1e9)
}

// procValue is what a file of Linux's /proc says behind key and a colon.
func procValue(file, key string) string {
	b, err := os.ReadFile(file)
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(b)) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return "unknown"
}
