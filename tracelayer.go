package tracelayer

import (
	"fmt"
	"time"
)

// Time is a point in nanoseconds after [Trace.Base], as the file writes it.
type Time int64

// NoDur is the duration of a kernel whose duration cannot be used: it is
// missing, null, not a number, negative, not finite, longer than [MaxDur], or
// the kernel begins (ph B) and never ends. Such a kernel keeps its place in the
// order and takes no part in any statistic.
const NoDur time.Duration = -1

// MaxDur is the longest duration that is believed. CUPTI is known to write
// durations of years; HTA pull request 325 drops what is over seven days.
const MaxDur = 7 * 24 * time.Hour

// NoCorrelation stands for a kernel without a correlation id.
const NoCorrelation int64 = -1

// A NameID is an index into [Trace.Names].
type NameID uint32

// A LaneID is an index into [Trace.Lanes].
type LaneID uint32

// A Kernel is one GPU kernel (or one copy or set) as the trace records it.
// It holds no pointer and is 24 bytes.
type Kernel struct {
	Start Time
	Dur   time.Duration // NoDur when it cannot be used
	Name  NameID
	Lane  LaneID
}

// End is Start + Dur, and Start where the duration cannot be used.
func (k Kernel) End() Time {
	if k.Dur < 0 {
		return k.Start
	}
	return k.Start + Time(k.Dur)
}

// A Lane is the row that a kernel stands in: one stream of one device, as one
// process saw it. The parts are the trace's own text, since pids may be words.
// Two streams of one number on two devices are two lanes.
type Lane struct {
	PID    string
	Device string // args.device, else the pid
	Stream string // args.stream, else the tid; a leading "stream " is dropped from either
}

// String is "pid P device D stream S".
func (l Lane) String() string {
	return fmt.Sprintf("pid %s device %s stream %s", l.PID, l.Device, l.Stream)
}

// An Annotation is a label that a program put around its work
// (record_function, NVTX): category user_annotation, or gpu_user_annotation
// for the copy that the profiler projects on a GPU row.
type Annotation struct {
	Name       string
	Start      Time
	Dur        time.Duration // NoDur when it cannot be used
	PID, TID   string
	GPU        bool  // on a GPU row
	ExternalID int64 // the same on the CPU and the GPU copy; -1 when absent
}

// End is Start + Dur, and Start where the duration cannot be used.
func (a Annotation) End() Time {
	if a.Dur < 0 {
		return a.Start
	}
	return a.Start + Time(a.Dur)
}

// A Launch is a runtime or driver call that launched a kernel or a graph.
// Its Correlation is that of the kernels it launched; all kernels of one graph
// launch share it.
type Launch struct {
	Correlation int64 // NoCorrelation when absent
	Start       Time
	Thread      ThreadID
	Graph       bool // a graph launch
}

// A ThreadID is an index into [Trace.Threads].
type ThreadID uint32

// A Thread is a CPU row.
type Thread struct{ PID, TID string }

// A Device is an entry of the file's deviceProperties. Kernels may name a
// device that has no entry: ROCm counts CPU sockets first.
type Device struct {
	ID           int
	Name         string // may be empty
	ComputeMajor int
	ComputeMinor int
	NumSMs       int
	WarpSize     int
	TotalMemory  int64 // bytes
}

// Metadata is what the file says of itself outside the event list.
type Metadata struct {
	Devices   []Device
	Rank      int // -1 when the file does not say
	WorldSize int // 0 when the file does not say
	Backend   string
	TraceName string
	// Versions holds the values whose keys end in "version" (hip_runtime_version,
	// cuda_driver_version, ...), in the file's spelling and without quotes. It is
	// nil when there are none.
	Versions map[string]string
}

// Counts says what was read and what of it could be used.
type Counts struct {
	Bytes    int64 // uncompressed
	Events   int64 // entries of the event list, including the ignored ones
	Ignored  int64 // entries that are empty objects or not objects
	Complete int64 // events of ph X, of any category
	Kernels  int64 // kernel events, including those without a usable time
	Copies   int64 // copy and set events, likewise
	Unplaced int64 // kernel, copy and set events without a usable start, kept nowhere
	Labels   int64 // user_annotation and gpu_user_annotation events, also those without a usable start, which are kept nowhere
	Launches int64 // launch calls, likewise
}

// A Trace is what was kept of one file. It is complete when returned and must
// not be changed afterwards; goroutines may share it.
type Trace struct {
	Name string // the file, as given to Load or Read

	// Base is the file's baseTimeNanoseconds: Unix nanoseconds, 0 when the file
	// has none (then its times are absolute already). Base + Start is absolute.
	Base int64
	// Origin is the zero of the Perfetto UI: the smallest start of the events
	// that make a row there (slices with a duration, B, instants, async begins,
	// counters; not metadata, not flows).
	Origin Time

	// Kernels are sorted by Start; equal starts keep the file's order.
	Kernels []Kernel
	// Correlations has one id for each kernel, or NoCorrelation.
	Correlations []int64
	// Copies are memory copies and sets, sorted like Kernels. They are in no layer.
	Copies []Kernel

	Names       []string     // kernel and copy names, valid UTF-8, in order of appearance
	Lanes       []Lane       // in order of appearance
	Annotations []Annotation // sorted by Start; equal starts keep the file's order
	Launches    []Launch     // in the file's order
	Threads     []Thread     // of launches, in order of appearance

	Metadata Metadata
	Counts   Counts
	// Warnings says what was odd and how it was read, one entry a kind, in a
	// fixed order.
	Warnings []Warning
}

// A Warning is one kind of oddity that did not stop the reading.
type Warning struct {
	Kind  string // a stable key, such as "invalid_utf8_strings"; warnings.go has all
	Count int64
	Event int64  // index of the first event concerned, -1 outside the list
	Text  string // for people: what was found and how it was read
}

// String is the text with its count.
func (w Warning) String() string {
	if w.Event >= 0 {
		return fmt.Sprintf("%s (%d, first at event %d)", w.Text, w.Count, w.Event)
	}
	return fmt.Sprintf("%s (%d)", w.Text, w.Count)
}

// KernelName is the name of k, a kernel or copy of t.
func (t *Trace) KernelName(k Kernel) string { return t.Names[k.Name] }
