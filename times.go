package tracelayer

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// Times is how some kernels use time. The kernels of one stream may overlap:
// by the clock's resolution, by dependent launch (NVIDIA, sm_90 and later), or
// because ROCm stamps completions late. Only the last is no work: on AMD GPUs
// an overrun of a microsecond or more into the next kernel of the stream, be
// that measured or not, is clipped, here and in no other number, and counted.
type Times struct {
	Span time.Duration // from the first start to the last end
	Busy time.Duration // while at least one kernel runs: the union of their intervals
	Sum  time.Duration // of all durations; more than Busy where kernels overlap

	Comm       time.Duration // while a collective runs
	HiddenComm time.Duration // of that, while something else runs too

	Streams []StreamTime // in order of lane

	Clipped   int           // kernels that were clipped
	ClippedBy time.Duration // by how much together
}

// A StreamTime is the busy time of one lane.
type StreamTime struct {
	Lane LaneID
	Busy time.Duration
}

// Idle is Span - Busy.
func (t Times) Idle() time.Duration { return t.Span - t.Busy }

// ExposedComm is Comm - HiddenComm: while collectives run and nothing else.
func (t Times) ExposedComm() time.Duration { return t.Comm - t.HiddenComm }

// clipFrom is the least overrun that is taken for a late completion stamp.
const clipFrom = time.Microsecond

// A Meter measures the times of kernels of one trace. It never changes, so
// goroutines may share it.
type Meter struct {
	t      *Trace
	isComm []bool     // by name
	late   []lateStop // in order of kernel
}

// A lateStop is a kernel whose completion is stamped late, and where the next
// kernel of its stream begins.
type lateStop struct {
	kernel int32
	end    Time
}

// NewMeter makes a meter for a trace. The profile says which kernels are
// collectives; nil means the common rules.
func NewMeter(t *Trace, p *Profile) *Meter {
	return newMeter(t, classes(t, p))
}

func newMeter(t *Trace, classes []Class) *Meter {
	m := &Meter{t: t, isComm: make([]bool, len(t.Names))}
	for i, c := range classes {
		m.isComm[i] = c.Group == "comm"
	}
	if t.isAMD() {
		m.late = lateStops(t)
	}
	return m
}

// lateStops finds the kernels that run a microsecond or more into the next one
// of their stream.
func lateStops(t *Trace) []lateStop {
	var all []lateStop
	last := make([]int32, len(t.Lanes)) // plus 1; 0 where none came yet
	for i, k := range t.Kernels {
		if k.Dur < 0 {
			continue
		}
		if j := last[k.Lane] - 1; j >= 0 && t.Kernels[j].End()-k.Start >= Time(clipFrom) {
			all = append(all, lateStop{j, k.Start})
		}
		last[k.Lane] = int32(i) + 1
	}
	slices.SortFunc(all, func(a, b lateStop) int { return cmp.Compare(a.kernel, b.kernel) })
	return all
}

// Times measures some kernels, given as indices into Trace.Kernels in any order,
// such as a part of Segments.Order.
func (m *Meter) Times(kernels []int32) Times {
	all := m.intervals(nil, kernels)
	t := measureTimes(all)
	lanes := map[LaneID]cover{} // not all of the trace: there may be as many as kernels
	for _, iv := range all {
		c := lanes[iv.lane]
		c.add(iv)
		lanes[iv.lane] = c
	}
	for _, lane := range slices.Sorted(maps.Keys(lanes)) {
		t.Streams = append(t.Streams, StreamTime{lane, time.Duration(lanes[lane].covered)})
	}
	return t
}

// measureTimes is all of Times but its streams.
func measureTimes(all []interval) Times {
	var t Times
	if len(all) == 0 {
		return t
	}
	var busy, comm, other cover
	last := all[0].end
	for _, iv := range all {
		t.Sum += time.Duration(iv.written - iv.start)
		if iv.end < iv.written {
			t.Clipped++
			t.ClippedBy += time.Duration(iv.written - iv.end)
		}
		last = max(last, iv.end)
		busy.add(iv)
		if iv.comm {
			comm.add(iv)
		} else {
			other.add(iv)
		}
	}
	t.Span = time.Duration(last - all[0].start)
	t.Busy, t.Comm = time.Duration(busy.covered), time.Duration(comm.covered)
	t.HiddenComm = time.Duration(comm.covered + other.covered - busy.covered)
	return t
}

// A cover is the union of intervals that are added in order of start.
type cover struct {
	covered, end Time
	any          bool
}

func (c *cover) add(iv interval) {
	switch {
	case !c.any || iv.start >= c.end:
		c.covered += iv.end - iv.start
		c.end, c.any = iv.end, true
	case iv.end > c.end:
		c.covered += iv.end - c.end
		c.end = iv.end
	}
}

// An interval is the time of one kernel.
type interval struct {
	at         int  // place among the kernels measured
	start, end Time // end clipped
	written    Time // end as the trace has it
	lane       LaneID
	comm       bool
}

// intervals appends the kernels with a usable duration in order of start,
// clipped where that applies.
func (m *Meter) intervals(all []interval, kernels []int32) []interval {
	places := byStart(kernels)
	var late []lateStop
	for n := range kernels {
		at := n
		if places != nil {
			at = places[n]
		}
		i := kernels[at]
		if n == 0 && len(m.late) > 0 {
			first, _ := slices.BinarySearchFunc(m.late, i, func(l lateStop, k int32) int { return cmp.Compare(l.kernel, k) })
			late = m.late[first:]
		}
		k := m.t.Kernels[i]
		if k.Dur < 0 {
			continue
		}
		end := k.End()
		for len(late) > 0 && late[0].kernel < i {
			late = late[1:]
		}
		if len(late) > 0 && late[0].kernel == i {
			end = late[0].end
		}
		all = append(all, interval{at, k.Start, end, k.End(), k.Lane, m.isComm[k.Name]})
	}
	return all
}

// byStart lists the places of some kernels in order of start, nil if that is
// the order they stand in.
func byStart(kernels []int32) []int {
	if slices.IsSorted(kernels) {
		return nil
	}
	places := make([]int, len(kernels))
	for i := range places {
		places[i] = i
	}
	slices.SortFunc(places, func(a, b int) int { return cmp.Compare(kernels[a], kernels[b]) })
	return places
}

// isAMD reports whether the trace says that its GPUs are AMD's. A trace that
// says nothing is not.
func (t *Trace) isAMD() bool {
	for key := range t.Metadata.Versions {
		if k := strings.ToLower(key); strings.HasPrefix(k, "hip_") || strings.HasPrefix(k, "roc") {
			return true
		}
	}
	return slices.ContainsFunc(t.Metadata.Devices, func(d Device) bool {
		return strings.Contains(d.Name, "AMD") || strings.Contains(d.Name, "Radeon") || strings.Contains(d.Name, "Instinct")
	})
}

// PassTimes says where the time of a pass goes. A moment in which several
// kernels run counts for the one whose part comes first, so that
//
//	Prologue + Layers + Epilogue + Idle = Span
//
// holds to the nanosecond.
type PassTimes struct {
	Span                       time.Duration // from the first start to the last end
	Prologue, Layers, Epilogue time.Duration // busy
	Idle                       time.Duration // no kernel of the pass runs

	Clipped   int           // kernels that were clipped, see Times
	ClippedBy time.Duration // by how much together
}

// PassTimes measures a pass of a segmentation of the meter's trace.
func (m *Meter) PassTimes(s *Segments, p Pass) PassTimes {
	t, _ := m.passTimes(nil, s, p)
	return t
}

// passTimes is PassTimes with a buffer, which it returns.
func (m *Meter) passTimes(all []interval, s *Segments, p Pass) (PassTimes, []interval) {
	all = m.intervals(all[:0], s.Order[p.Start:p.End])
	if len(all) == 0 {
		return PassTimes{}, all
	}
	head, tail := len(s.Prologue(p)), int(p.End-p.Start)-len(s.Epilogue(p))
	var c cover
	var t PassTimes
	last := all[0].end
	for _, iv := range all {
		if iv.end < iv.written {
			t.Clipped++
			t.ClippedBy += time.Duration(iv.written - iv.end)
		}
		before := c.covered
		c.add(iv)
		busy := time.Duration(c.covered - before)
		switch {
		case iv.at < head:
			t.Prologue += busy
		case iv.at < tail:
			t.Layers += busy
		default:
			t.Epilogue += busy
		}
		last = max(last, iv.end)
	}
	t.Span = time.Duration(last - all[0].start)
	t.Idle = t.Span - time.Duration(c.covered)
	return t, all
}

// Add adds the times of another pass.
func (t PassTimes) Add(o PassTimes) PassTimes {
	return PassTimes{
		t.Span + o.Span, t.Prologue + o.Prologue, t.Layers + o.Layers, t.Epilogue + o.Epilogue, t.Idle + o.Idle,
		t.Clipped + o.Clipped, t.ClippedBy + o.ClippedBy,
	}
}
