//go:build unix

package main

import (
	"bytes"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestRun measures small traces. Whether a bound holds for them says nothing.
func TestRun(t *testing.T) {
	t.Chdir("..")
	args := []string{"-sizes", "1MB,2MB", "-python-sizes", "2MB", "-runs", "2", "-python-runs", "1", "-dir", t.TempDir()}
	if _, err := exec.LookPath("python3"); err != nil {
		t.Log("no python3: measured without it")
		args = append(args, "-python=false")
	}
	var out bytes.Buffer
	if err := run(t.Context(), args, &out, io.Discard); err != nil && !errors.Is(err, errBound) {
		t.Fatal(err)
	}
	for _, want := range []string{"| 2MB python | ", "| 1MB kernels | ", " 2MB kernels: ", " CPUs", "commit "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, out.String())
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"x"}, {"-runs", "0"}, {"-python-runs", "0"}, {"-no-such-flag"}} {
		if _, err := parse(args, io.Discard); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
	o, err := parse([]string{"-python=false", "-sizes", "1MB"}, io.Discard)
	if err != nil || !slices.Equal(o.sizes, []string{"1MB"}) || o.pythonSizes != nil {
		t.Errorf("got %+v, error %v", o, err)
	}
}

// measured is a job whose runs all took the same.
func measured(s float64, peak int64) job {
	d := time.Duration(s * float64(time.Second))
	return job{args: []string{"x"}, wall: []time.Duration{d, d}, user: []time.Duration{d}, peak: []int64{peak, peak / 2}}
}

func TestWholeLimit(t *testing.T) {
	t.Parallel()
	for peak, want := range map[int64]bool{71e6: true, 72e6: false} {
		traces := []*trace{{
			shape: "kernels", size: "1GB", bytes: 1e9, kernels: 1e5, inflate: measured(1, 5e6),
			traceLayer: measured(1.3, 70e6), whole: measured(1.3, peak),
		}}
		var b strings.Builder
		if kept := bounds(&b, traces); kept != want {
			t.Errorf("peak %d: kept %v:\n%s", peak, kept, b.String())
		}
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name         string
		ours, python job
		whole        job
		large        job    // of 4 times the size
		fail         string // part of the only bound that does not hold
	}{
		{"all kept", measured(1.3, 70e6), measured(20, 1.5e9), measured(1.3, 70e6), measured(5.2, 80e6), ""},
		{"slower than inflating", measured(1.5, 70e6), measured(30, 1.5e9), measured(1.5, 70e6), measured(5.2, 80e6), "1.50 times as long as inflating"},
		{"memory", measured(1.3, 75e6), measured(20, 1.5e9), measured(1.3, 75e6), measured(5.2, 80e6), "75.0 MB (at most 70.4"},
		{"speed beside Python", measured(1.3, 70e6), measured(19, 1.5e9), measured(1.3, 70e6), measured(5.2, 80e6), "14.6 times faster"},
		{"memory beside Python", measured(1.3, 70e6), measured(20, 1.3e9), measured(1.3, 70e6), measured(5.2, 80e6), "1/19 of Python's memory"},
		{"whole layers slow", measured(1.3, 70e6), measured(20, 1.5e9), measured(1.7, 70e6), measured(5.2, 80e6), "whole layers take 1.31 times"},
		{"not linear", measured(1.1, 70e6), measured(20, 1.5e9), measured(1.1, 70e6), measured(5.5, 80e6), "1.25 times the time per byte"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			traces := []*trace{
				{shape: "python", size: "1GB", bytes: 1e9, kernels: 1e5, inflate: measured(1, 5e6), traceLayer: tt.ours, whole: tt.whole, python: tt.python},
				{shape: "python", size: "4GB", bytes: 4e9, kernels: 4e5, inflate: measured(4, 5e6), traceLayer: tt.large, whole: tt.large},
			}
			var b strings.Builder
			kept := bounds(&b, traces)
			if kept != (tt.fail == "") {
				t.Errorf("kept: %v", kept)
			}
			for line := range strings.Lines(b.String()) {
				failed := strings.HasPrefix(line, "- FAIL")
				if want := tt.fail != "" && strings.Contains(line, tt.fail); failed != want {
					t.Errorf("failed: %v, want %v: %s", failed, want, line)
				}
			}
		})
	}
}

func TestMedian(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		of   []time.Duration
		want time.Duration
	}{
		{[]time.Duration{7}, 7},
		{[]time.Duration{9, 1, 5}, 5},
		{[]time.Duration{9, 1, 5, 3}, 4},
	} {
		if got := median(tt.of); got != tt.want {
			t.Errorf("median(%v) = %v, want %v", tt.of, got, tt.want)
		}
	}
}

func TestField(t *testing.T) {
	t.Parallel()
	out := []byte("Total GPU kernels: 12\nTotal: x\n")
	if n, ok := field(out, "Total GPU kernels:"); n != 12 || !ok {
		t.Errorf("got %d, %v", n, ok)
	}
	for _, key := range []string{"Total:", "Kernels per layer:"} {
		if n, ok := field(out, key); ok {
			t.Errorf("%s: got %d", key, n)
		}
	}
}
