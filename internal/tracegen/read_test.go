package tracegen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// An event is one of a trace as encoding/json reads it, which shares nothing
// with the code that wrote it.
type event struct {
	Ph   string
	Cat  string
	Name string
	ID   int64
	PID  any
	TID  any
	TS   json.Number
	Dur  json.Number
	Args struct {
		Device      *int
		Stream      *int
		Correlation int64
		ExternalID  int64  `json:"External id"`
		PythonID    int64  `json:"Python id"`
		ParentID    *int64 `json:"Python parent id"`
		GraphNode   int64  `json:"graph node id"`
	}
	start, end int64 // nanoseconds
}

// readEvents reads a whole file; any of it that is no JSON fails the test.
func readEvents(t *testing.T, file []byte) []event {
	t.Helper()
	var trace struct {
		SchemaVersion int
		BaseTime      json.Number `json:"baseTimeNanoseconds"`
		TraceEvents   []event
		TraceName     string
	}
	d := json.NewDecoder(bytes.NewReader(file))
	d.UseNumber()
	if err := d.Decode(&trace); err != nil {
		t.Fatalf("not valid JSON: %v", err)
	}
	if d.More() {
		t.Error("data behind the trace")
	}
	if trace.SchemaVersion != 1 || trace.BaseTime == "" || trace.TraceName == "" {
		t.Errorf("header lacks keys: %+v", trace.TraceEvents[:0])
	}
	for i := range trace.TraceEvents {
		e := &trace.TraceEvents[i]
		e.start = parseNS(t, e.TS)
		e.end = e.start
		if e.Dur != "" {
			e.end += parseNS(t, e.Dur)
		}
	}
	return trace.TraceEvents
}

// parseNS wants microseconds with exactly three decimals.
func parseNS(t *testing.T, n json.Number) int64 {
	t.Helper()
	whole, frac, _ := strings.Cut(string(n), ".")
	ns, err := strconv.ParseInt(whole+frac, 10, 64)
	if err != nil || len(frac) != 3 {
		t.Fatalf("time %q: want three decimals", n)
	}
	return ns
}

// kernelsOf gives the kernels in the order that Truth counts in.
func kernelsOf(events []event) []event {
	var ks []event
	for _, e := range events {
		if e.Ph == "X" && e.Cat == "kernel" {
			ks = append(ks, e)
		}
	}
	sort.SliceStable(ks, func(i, j int) bool { return ks[i].start < ks[j].start })
	return ks
}

// countsOf counts what Counts has, but for the number of bytes.
func countsOf(events []event) Counts {
	c := Counts{Events: len(events)}
	names := map[string]bool{}
	for _, e := range events {
		switch e.Cat {
		case "kernel":
			c.Kernels++
			names[e.Name] = true
		case "gpu_memcpy", "gpu_memset":
			c.Copies++
		case "cuda_runtime", "cuda_driver":
			c.Launches++
		case "user_annotation":
			c.Labels++
		case "gpu_user_annotation":
			c.GPULabels++
		case "python_function":
			c.Python++
		case "cpu_op":
			c.Ops++
		}
	}
	c.Names = len(names)
	return c
}

func checkCounts(t *testing.T, truth Truth, file []byte, events []event) {
	t.Helper()
	want := countsOf(events)
	want.Bytes = int64(len(file))
	if diff := cmp.Diff(want, truth.Counts); diff != "" {
		t.Errorf("counts, file against truth:\n%s", diff)
	}
}

// checkTruth compares truth with the events of the file.
func checkTruth(t *testing.T, s Spec, truth Truth, events []event) {
	t.Helper()
	s, err := s.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	ks := kernelsOf(events)
	seen := make([]int, len(ks))
	var rows []cpuRow
	for _, pr := range s.Processes {
		rows = append(rows, newCPURow(pr, events))
	}
	for i := range truth.Passes {
		p := &truth.Passes[i]
		where := fmt.Sprintf("pass %d (%s, process %d, device %d)", i, p.Phase, p.Process, p.Device)
		check := func(part string, indices []int32, want []Kernel, cut bool) {
			var got []string
			for _, at := range indices {
				seen[at]++
				k := ks[at]
				got = append(got, k.Name)
				if *k.Args.Device != p.Device {
					t.Errorf("%s, %s: kernel %d is on device %d", where, part, at, *k.Args.Device)
				}
				if prefix := s.Processes[p.Process].Prefix; prefix != "" && k.PID != fmt.Sprintf("%s %d", prefix, p.Device) {
					t.Errorf("%s, %s: kernel %d has pid %v", where, part, at, k.PID)
				}
			}
			if !slices.IsSorted(indices) {
				t.Errorf("%s, %s: indices are not in order: %v", where, part, indices)
			}
			if s.NoKernels {
				want = nil
			}
			if !isRunOf(got, want, cut) {
				t.Errorf("%s, %s: got kernels\n%s", where, part, strings.Join(got, "\n"))
			}
		}
		spec := &s.Passes[p.Pass]
		check("prologue", p.Prologue, spec.Prologue, spec.Skip > 0)
		for l, layer := range p.Layers {
			check(fmt.Sprintf("layer %d", l), layer.Kernels, spec.Layers[l].Kernels, layer.Cut)
			if layer.Kind != spec.Layers[l].Name {
				t.Errorf("%s, layer %d: kind %q", where, l, layer.Kind)
			}
		}
		check("epilogue", p.Epilogue, spec.Epilogue, false)
		for _, at := range p.Strays {
			seen[at]++
		}
		rows[p.Process].check(t, where, p, ks)
	}
	for at, n := range seen {
		if n != 1 {
			t.Fatalf("kernel %d of %d belongs to %d places", at, len(ks), n)
		}
	}
}

// isRunOf says whether names are those of kernels, without copies, in order.
// Kernels that run by chance may be missing, and the first ones when cut. In a
// capture only Eager kernels run, which is for the caller to know.
func isRunOf(names []string, kernels []Kernel, cut bool) bool {
	i := 0
	for _, k := range kernels {
		switch {
		case strings.HasPrefix(k.Name, "Mem"):
		case i < len(names) && names[i] == k.Name:
			i++
		case k.Chance == 0 && !(cut && i == 0):
			return false
		}
	}
	return i == len(names)
}

// A cpuRow is what stands on the CPU row of a process.
type cpuRow struct {
	calls  map[int64]event // by correlation id
	labels []event
}

func newCPURow(pr Process, events []event) cpuRow {
	pid := strings.TrimSpace(fmt.Sprintf("%s %d", pr.Prefix, pr.PID))
	row := cpuRow{calls: map[int64]event{}}
	for _, e := range events {
		if fmt.Sprint(e.PID) != pid {
			continue
		}
		switch e.Cat {
		case "cuda_runtime", "cuda_driver":
			row.calls[e.Args.Correlation] = e
		case "user_annotation":
			row.labels = append(row.labels, e)
		}
	}
	return row
}

// check follows each kernel of a pass to its call, which must lie within each
// of the pass's labels and no other.
func (r cpuRow) check(t *testing.T, where string, p *PassTruth, ks []event) {
	t.Helper()
	for _, l := range p.Layers {
		for _, at := range l.Kernels {
			call, ok := r.calls[ks[at].Args.Correlation]
			if !ok {
				t.Fatalf("%s: kernel %d has no call", where, at)
			}
			var got []string
			for _, l := range r.labels {
				if l.start <= call.start && call.end <= l.end {
					got = append(got, l.Name)
				}
			}
			if !slices.Equal(got, p.Labels) {
				t.Fatalf("%s: kernel %d was called within labels %q, want %q", where, at, got, p.Labels)
			}
		}
	}
}
