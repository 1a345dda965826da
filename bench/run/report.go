//go:build unix

package main

import (
	"fmt"
	"io"
	"strings"
)

// What the project promises. MB is 1e6 bytes.
const (
	maxInflateRatio = 1.4 // of the time that inflating takes, from ratioFrom bytes on
	ratioFrom       = 400e6
	minPythonSpeed  = 15   // times as fast as Python, on mostly Python stacks
	minPythonMemory = 20   // Python's memory in ours, likewise
	maxWhole        = 1.25 // time of whole layers, in that of anchor to anchor
	maxGrowth       = 1.2  // time per byte of the largest trace, in that of the smallest
)

// memoryLimit is what a trace of so many kernels may take.
func memoryLimit(kernels int64) int64 { return 64e6 + 64*kernels }

// wholeLimit is what passes and whole layers may take beside.
func wholeLimit(kernels int64) int64 { return 16 * kernels }

// report writes the tables. Its error is errBound or that of w.
func report(w io.Writer, traces []*trace, machine, args []string, o options) error {
	var b strings.Builder
	for _, line := range machine {
		fmt.Fprintf(&b, "- %s\n", line)
	}
	fmt.Fprintf(&b, "- command: `%s`\n", strings.Join(append([]string{"go run ./run"}, args...), " "))
	inPython := ""
	if len(o.pythonSizes) > 0 {
		inPython = fmt.Sprintf(" (in Python %d)", min(o.runs, o.pythonRuns))
	}
	fmt.Fprintf(&b, "- %d runs of each job%s, in turn; times are the least, in brackets the median; memory is the highest peak; MB is 1e6 bytes\n", o.runs, inPython)
	besideOthers(&b, traces)
	besideMerged(&b, traces)
	scaling(&b, traces)
	kept := bounds(&b, traces)
	if _, err := io.WriteString(w, b.String()); err != nil {
		return err
	}
	if !kept {
		return errBound
	}
	return nil
}

// besideOthers is the table of trace_layer, inflating and Python.
func besideOthers(b *strings.Builder, traces []*trace) {
	b.WriteString(`
| trace | kernels | inflate s | trace_layer s | of inflate | Python s | Python / trace_layer | peak MB inflate | trace_layer | limit | Python | Python / trace_layer |
|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|
`)
	for _, t := range traces {
		ours := &t.traceLayer
		seconds, speed, peak, share := "-", "-", "-", "-"
		if py := &t.python; py.args != nil {
			seconds, speed = times(py), fmt.Sprintf("%.1f", py.best()/ours.best())
			peak, share = megabytes(py.most()), fmt.Sprintf("%.0f", float64(py.most())/float64(ours.most()))
		}
		fmt.Fprintf(b, "| %v | %d | %s | %s | %.2f | %s | %s | %s | %s | %s | %s | %s |\n",
			t, t.kernels, times(&t.inflate), times(ours), ours.best()/t.inflate.best(), seconds, speed,
			megabytes(t.inflate.most()), megabytes(ours.most()), megabytes(memoryLimit(t.kernels)), peak, share)
	}
}

// besideMerged is the table of whole layers and anchor to anchor.
func besideMerged(b *strings.Builder, traces []*trace) {
	b.WriteString(`
| trace | kernels | from anchor to anchor s | whole layers s | ratio | peak MB anchor to anchor | whole layers | bytes a kernel more |
|---|--:|--:|--:|--:|--:|--:|--:|
`)
	for _, t := range traces {
		ours, whole := &t.traceLayer, &t.whole
		fmt.Fprintf(b, "| %v | %d | %s | %s | %.2f | %s | %s | %.1f |\n", t, t.kernels, times(ours), times(whole),
			whole.best()/ours.best(), megabytes(ours.most()), megabytes(whole.most()), float64(whole.most()-ours.most())/float64(t.kernels))
	}
}

// scaling is the table of trace_layer by size.
func scaling(b *strings.Builder, traces []*trace) {
	b.WriteString(`
| trace | MB | MB packed | kernels | trace_layer s | user s | s per GB | MB/s | kernels/s | peak MB |
|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|
`)
	for _, shape := range shapes {
		for _, t := range traces {
			if t.shape != shape {
				continue
			}
			s := t.traceLayer.best()
			fmt.Fprintf(b, "| %v | %s | %s | %d | %.3f | %.3f | %.2f | %.0f | %.2g M | %s |\n",
				t, megabytes(t.bytes), megabytes(t.packed), t.kernels, s, t.traceLayer.cpu(),
				s/float64(t.bytes)*1e9, float64(t.bytes)/s/1e6, float64(t.kernels)/s/1e6, megabytes(t.traceLayer.most()))
		}
	}
}

// bounds lists each bound with PASS or FAIL and reports whether all are kept.
func bounds(b *strings.Builder, traces []*trace) bool {
	kept := true
	check := func(ok bool, format string, args ...any) {
		verdict := "PASS"
		if !ok {
			verdict, kept = "FAIL", false
		}
		fmt.Fprintf(b, "- %s %s\n", verdict, fmt.Sprintf(format, args...))
	}
	b.WriteByte('\n')
	for _, t := range traces {
		ours := &t.traceLayer
		if t.bytes >= ratioFrom { // before, the cost of starting shows
			ratio := ours.best() / t.inflate.best()
			check(ratio <= maxInflateRatio, "%v: %.2f times as long as inflating (at most %.1f)", t, ratio, maxInflateRatio)
		}
		check(ours.most() <= memoryLimit(t.kernels), "%v: %s MB (at most %s: 64 MB and 64 bytes a kernel)", t, megabytes(ours.most()), megabytes(memoryLimit(t.kernels)))
		if t.bytes >= ratioFrom {
			ratio := t.whole.best() / ours.best()
			check(ratio <= maxWhole, "%v: whole layers take %.2f times as long as anchor to anchor (at most %.2f)", t, ratio, maxWhole)
		}
		if t.bytes >= ratioFrom && t.shape == "kernels" { // with few kernels it is the moments of garbage collection that differ
			more := t.whole.most() - ours.most()
			check(more <= wholeLimit(t.kernels), "%v: whole layers take %s MB more (at most %s: 16 bytes a kernel)", t, megabytes(more), megabytes(wholeLimit(t.kernels)))
		}
		if py := &t.python; py.args != nil && t.shape == "python" {
			speed, share := py.best()/ours.best(), float64(py.most())/float64(ours.most())
			check(speed >= minPythonSpeed, "%v: %.1f times faster than Python (at least %d)", t, speed, minPythonSpeed)
			check(share >= minPythonMemory, "%v: 1/%.0f of Python's memory (at most 1/%d)", t, share, minPythonMemory)
		}
	}
	for _, shape := range shapes {
		first, last := ends(traces, shape)
		if first == last {
			continue
		}
		growth := perByte(last) / perByte(first)
		check(growth <= maxGrowth, "%v: %.2f times the time per byte of %v (at most %.1f)", last, growth, first, maxGrowth)
	}
	return kept
}

// ends are the smallest and the largest trace of a shape.
func ends(traces []*trace, shape string) (first, last *trace) {
	for _, t := range traces {
		if t.shape != shape {
			continue
		}
		if first == nil || t.bytes < first.bytes {
			first = t
		}
		if last == nil || t.bytes > last.bytes {
			last = t
		}
	}
	return first, last
}

func perByte(t *trace) float64 { return t.traceLayer.best() / float64(t.bytes) }

func times(j *job) string { return fmt.Sprintf("%.3f (%.3f)", j.best(), j.middle()) }

func megabytes(n int64) string { return fmt.Sprintf("%.1f", float64(n)/1e6) }
