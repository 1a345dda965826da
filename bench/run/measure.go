//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A job is a command with what its runs took.
type job struct {
	args []string // nil: there is no such job
	out  []byte   // what it printed, the same in every run
	wall []time.Duration
	user []time.Duration
	peak []int64 // bytes
}

// measureAll runs the jobs of all traces in turn, so that a slow minute of the
// machine falls on all of them.
func measureAll(ctx context.Context, traces []*trace, o options, dir string, progress io.Writer) error {
	for i := range o.runs {
		for _, t := range traces {
			fmt.Fprintf(progress, "run %d of %d: %v\n", i+1, o.runs, t)
			jobs := []*job{&t.inflate, &t.traceLayer, &t.whole}
			if i < o.pythonRuns && t.python.args != nil {
				jobs = append(jobs, &t.python)
			}
			for _, j := range jobs {
				if err := j.measure(ctx, dir); err != nil {
					return err
				}
			}
		}
	}
	for _, t := range traces {
		if err := t.check(); err != nil {
			return err
		}
	}
	return nil
}

// measure runs the job once, in dir. Linux hands the peak of a process on to
// what it executes, so no job has less than this process, which therefore never
// holds a trace.
func (j *job) measure(ctx context.Context, dir string) error {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, j.args[0], j.args[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr
	start := time.Now()
	err := cmd.Run()
	wall := time.Since(start)
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(j.args, " "), err, stderr.Bytes())
	}
	if j.out != nil && !bytes.Equal(j.out, stdout.Bytes()) {
		return fmt.Errorf("%s printed something else than in its first run", strings.Join(j.args, " "))
	}
	j.out = stdout.Bytes()
	j.wall = append(j.wall, wall)
	j.user = append(j.user, cmd.ProcessState.UserTime())
	j.peak = append(j.peak, maxRSS(cmd.ProcessState.SysUsage().(*syscall.Rusage)))
	return nil
}

// maxRSS is the most memory that a process held, in bytes.
func maxRSS(u *syscall.Rusage) int64 {
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return int64(u.Maxrss)
	}
	return int64(u.Maxrss) << 10
}

// check reads off the output how much was read, and sees to it that
// trace_layer and Python did the same work.
func (t *trace) check() error {
	var err error
	if t.bytes, err = strconv.ParseInt(strings.TrimSpace(string(t.inflate.out)), 10, 64); err != nil {
		return err
	}
	for _, key := range []string{"Total GPU kernels:", "Kernels per layer:", "Sampled layers:"} {
		got, ok := field(t.traceLayer.out, key)
		if !ok {
			return fmt.Errorf("%v: trace_layer printed no line %q", t, key)
		}
		if want, _ := field(t.python.out, key); t.python.args != nil && got != want {
			return fmt.Errorf("%v: trace_layer printed %q %d, Python %d", t, key, got, want)
		}
		if t.kernels == 0 {
			t.kernels = got
		}
	}
	return nil
}

// field is the number on the line that begins with key.
func field(out []byte, key string) (int64, bool) {
	for line := range strings.Lines(string(out)) {
		if rest, ok := strings.CutPrefix(line, key); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(rest), 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}

// best and middle are the least and the median of the runs, in seconds.
func (j *job) best() float64   { return slices.Min(j.wall).Seconds() }
func (j *job) middle() float64 { return median(j.wall).Seconds() }

// cpu is the least user time of the runs, in seconds.
func (j *job) cpu() float64 { return slices.Min(j.user).Seconds() }

// most is the highest peak of the runs: a bound on memory must hold each time.
func (j *job) most() int64 { return slices.Max(j.peak) }

func median(d []time.Duration) time.Duration {
	s := slices.Sorted(slices.Values(d))
	n := len(s)
	return (s[(n-1)/2] + s[n/2]) / 2
}
