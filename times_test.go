package tracelayer

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// timed makes a trace of kernels with given stream, start and duration in ns.
func timed(vendor string, kernels ...[3]int64) *Trace {
	t := &Trace{
		Names: []string{"gemm", "ncclDevKernel_AllReduce_Sum"},
		Lanes: []Lane{{"0", "0", "7"}, {"0", "0", "20"}},
	}
	if vendor != "" {
		t.Metadata.Devices = []Device{{Name: vendor}}
	}
	for _, k := range kernels {
		t.Kernels = append(t.Kernels, Kernel{Time(k[1]), time.Duration(k[2]), NameID(k[0]), LaneID(k[0])})
	}
	return t
}

func TestTimes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		trace   *Trace
		want    Times
		busy    []time.Duration // of each stream
		exposed time.Duration
	}{
		{"nothing", timed(""), Times{}, nil, 0},
		{"two streams", timed("", [3]int64{0, 1000_000, 100_000}, [3]int64{1, 1050_000, 90_000}, [3]int64{0, 1160_000, 50_000}, [3]int64{1, 1205_000, 55_000}),
			Times{Span: 260_000, Busy: 240_000, Sum: 295_000, Comm: 145_000, HiddenComm: 55_000}, []time.Duration{150_000, 145_000}, 90_000},
		{"one inside another", timed("", [3]int64{0, 0, 100}, [3]int64{0, 10, 20}, [3]int64{0, 200, 5}),
			Times{Span: 205, Busy: 105, Sum: 125}, []time.Duration{105}, 0},
		{"a late stamp on AMD", timed("AMD Instinct MI355X", [3]int64{0, 0, 5000}, [3]int64{0, 2000, 1000}, [3]int64{0, 6000, 100}),
			Times{Span: 6100, Busy: 3100, Sum: 6100, Clipped: 1, ClippedBy: 3000}, []time.Duration{3100}, 0},
		{"less than a microsecond is the clock", timed("AMD Instinct MI355X", [3]int64{0, 0, 2999}, [3]int64{0, 2000, 1000}),
			Times{Span: 3000, Busy: 3000, Sum: 3999}, []time.Duration{3000}, 0},
		{"dependent launch on NVIDIA", timed("NVIDIA B300", [3]int64{0, 0, 5000}, [3]int64{0, 2000, 1000}),
			Times{Span: 5000, Busy: 5000, Sum: 6000}, []time.Duration{5000}, 0},
		{"vendor not known", timed("", [3]int64{0, 0, 5000}, [3]int64{0, 2000, 1000}),
			Times{Span: 5000, Busy: 5000, Sum: 6000}, []time.Duration{5000}, 0},
		{"no usable duration", timed("", [3]int64{0, 0, -1}, [3]int64{0, 10, 20}), Times{Span: 20, Busy: 20, Sum: 20}, []time.Duration{20}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			order := make([]int32, len(tt.trace.Kernels))
			for i := range order {
				order[i] = int32(i)
			}
			got := NewMeter(tt.trace, nil).Times(order)
			var busy []time.Duration
			for _, s := range got.Streams {
				busy = append(busy, s.Busy)
			}
			if d := cmp.Diff(busy, tt.busy); d != "" {
				t.Errorf("streams (-got +want):\n%s", d)
			}
			if got.ExposedComm() != tt.exposed || got.Idle() != got.Span-got.Busy {
				t.Errorf("exposed %v, idle %v, want %v, %v", got.ExposedComm(), got.Idle(), tt.exposed, got.Span-got.Busy)
			}
			got.Streams = nil
			if d := cmp.Diff(got, tt.want); d != "" {
				t.Errorf("(-got +want):\n%s", d)
			}
		})
	}
}

// TestLateStampBehindTheLast: the next kernel of the stream need not be measured.
func TestLateStampBehindTheLast(t *testing.T) {
	t.Parallel()
	trace := timed("AMD Instinct MI300X", [3]int64{0, 0, 5000}, [3]int64{1, 1000, 500}, [3]int64{0, 2000, 4000}, [3]int64{0, 3000, 100})
	m := NewMeter(trace, nil)
	for _, tt := range []struct {
		kernels   []int32
		span      time.Duration
		clippedBy time.Duration
	}{
		{[]int32{0}, 2000, 3000},
		{[]int32{0, 1}, 2000, 3000},
		{[]int32{2}, 1000, 3000},
		{[]int32{3}, 100, 0},
		{[]int32{0, 1, 2, 3}, 3100, 6000},
	} {
		if got := m.Times(tt.kernels); got.Span != tt.span || got.ClippedBy != tt.clippedBy {
			t.Errorf("%v: span %v, clipped by %v, want %v, %v", tt.kernels, got.Span, got.ClippedBy, tt.span, tt.clippedBy)
		}
	}
}

// TestClosing: the parts of every pass add up to its span, to the nanosecond.
func TestClosing(t *testing.T) {
	t.Parallel()
	for _, shape := range []string{"atom_decode", "sglang_decode", "trtllm_mixed"} {
		trace, _ := generated(t, shape)
		checkClosing(t, shape, trace, attentionOf(t, trace))
	}
	for name, anchor := range anchorOf {
		checkClosing(t, name, sharedTrace(t, name), anchor)
	}
}

func checkClosing(t *testing.T, name string, trace *Trace, anchor string) {
	t.Helper()
	s, err := Segment(trace, AnchorProfile(anchor), nil)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	m := NewMeter(trace, nil)
	for i, p := range s.Passes {
		c := m.PassTimes(s, p)
		first, last := trace.Kernels[s.Order[p.Start]].Start, Time(0)
		for _, k := range s.Order[p.Start:p.End] {
			last = max(last, trace.Kernels[k].End())
		}
		if c.Prologue+c.Layers+c.Epilogue+c.Idle != c.Span || c.Prologue < 0 || c.Layers <= 0 || c.Epilogue < 0 || c.Idle < 0 {
			t.Errorf("%s pass %d: %+v does not add up", name, i, c)
		}
		if clipped := m.Times(s.Order[p.Start:p.End]).Clipped; clipped == 0 && c.Span != time.Duration(last-first) {
			t.Errorf("%s pass %d: span %v, want %v", name, i, c.Span, time.Duration(last-first))
		}
	}
}
