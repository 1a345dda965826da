package tracelayer

import (
	"cmp"
	"slices"
)

// NoStep stands for a kernel that belongs to no step.
const NoStep int32 = -1

// An Attribution says which step each kernel belongs to, and how that is known.
type Attribution struct {
	Steps []Step // as [Steps] returns them
	// Step has, for each of Trace.Kernels, an index into Steps or NoStep.
	Step []int32
	// ByLabel kernels lie under a label of their own GPU row, ByLaunch kernels
	// were launched under a label of the launching CPU thread, and Unplaced
	// kernels belong to no step. They add up to all kernels.
	ByLabel, ByLaunch, Unplaced int
}

// Attribute finds the step of each kernel. A label on the kernel's own GPU row
// decides; where there is none, the kernel's correlation id leads to its launch
// call and that to the innermost label around the call on its thread. GPU times
// are never compared with CPU labels: the GPU runs behind. All kernels of one
// graph launch share its id. In a file of several ranks ("[TP00] 42" as pid)
// an id leads only to a launch of the kernel's own rank.
func Attribute(t *Trace) *Attribution {
	return attribute(t, nil)
}

// attribute finds the steps of some kernels, given in order, or of all for nil.
func attribute(t *Trace, kernels []int32) *Attribution {
	n := len(kernels)
	if kernels == nil {
		n = len(t.Kernels)
	}
	a := &Attribution{Steps: Steps(t), Step: make([]int32, n)}
	rows := a.labelRows(t)
	lanes := make([]*labelSweep, len(t.Lanes))
	for i, l := range t.Lanes {
		lanes[i] = newLabelSweep(rows[labelRow{l.PID, l.Stream, true}])
	}
	launched := a.launches(t, rows)
	for i := range a.Step {
		at := i
		if kernels != nil {
			at = int(kernels[i])
		}
		k := t.Kernels[at]
		a.Step[i] = lanes[k.Lane].at(k.Start)
		if a.Step[i] >= 0 {
			a.ByLabel++
			continue
		}
		a.Step[i] = launched.step(t.Correlations[at], k.Lane)
		if a.Step[i] >= 0 {
			a.ByLaunch++
		} else {
			a.Unplaced++
		}
	}
	return a
}

// A labelRow is a thread, or a stream of a GPU.
type labelRow struct {
	pid, tid string
	gpu      bool
}

// A labelSpan is one label of a step on its row.
type labelSpan struct {
	start, end Time
	step       int32
}

// labelRows lists the labels of steps that ran, by row, in order of start; the
// longer of two that start together comes first.
func (a *Attribution) labelRows(t *Trace) map[labelRow][]labelSpan {
	rows := map[labelRow][]labelSpan{}
	add := func(step int, where []int) {
		for _, i := range where {
			l := t.Annotations[i]
			row := labelRow{l.PID, trimStream(l.TID), l.GPU}
			rows[row] = append(rows[row], labelSpan{l.Start, l.End(), int32(step)})
		}
	}
	for i, s := range a.Steps {
		if s.Phase != PhaseCapture {
			add(i, s.Seen.CPU)
			add(i, s.Seen.GPU)
		}
	}
	for _, spans := range rows {
		slices.SortStableFunc(spans, func(x, y labelSpan) int {
			return cmp.Or(cmp.Compare(x.start, y.start), cmp.Compare(y.end, x.end))
		})
	}
	return rows
}

// A labelSweep finds the innermost label at rising times.
type labelSweep struct {
	spans []labelSpan // those that have not begun
	open  []labelSpan
}

func newLabelSweep(spans []labelSpan) *labelSweep { return &labelSweep{spans: spans} }

// at is the step of the innermost label that holds the time, or NoStep. Times
// must not fall from call to call.
func (s *labelSweep) at(t Time) int32 {
	for len(s.spans) > 0 && s.spans[0].start <= t {
		s.open = append(s.open, s.spans[0])
		s.spans = s.spans[1:]
	}
	for len(s.open) > 0 && s.open[len(s.open)-1].end <= t && s.open[len(s.open)-1].start != t {
		s.open = s.open[:len(s.open)-1]
	}
	if len(s.open) == 0 {
		return NoStep
	}
	return s.open[len(s.open)-1].step
}

// launchSteps leads from correlation ids to steps.
type launchSteps struct {
	ids   [][]launchStep // by rank, sorted by id
	ranks []int          // of each lane: an index into ids, -1 where the rank launched nothing
	last  []int          // of each rank: where the last search ended
}

type launchStep struct {
	id   int64
	step int32
}

// launches finds the step of each launch call and sorts them by correlation id.
func (a *Attribution) launches(t *Trace, rows map[labelRow][]labelSpan) *launchSteps {
	l := &launchSteps{ranks: make([]int, len(t.Lanes))}
	rank := map[string]int{}
	perThread := make([]int, len(t.Threads))
	for i, th := range t.Threads {
		r := pidRank(th.PID)
		if _, ok := rank[r]; !ok {
			rank[r] = len(l.ids)
			l.ids = append(l.ids, nil)
		}
		perThread[i] = rank[r]
	}
	count := make([]int, len(l.ids))
	for _, c := range t.Launches {
		count[perThread[c.Thread]]++
	}
	for r, n := range count {
		l.ids[r] = make([]launchStep, 0, n)
	}
	a.sweepLaunches(t, rows, func(thread ThreadID, s launchStep) {
		l.ids[perThread[thread]] = append(l.ids[perThread[thread]], s)
	})
	for _, ids := range l.ids {
		slices.SortStableFunc(ids, func(x, y launchStep) int { return cmp.Compare(x.id, y.id) })
	}
	for i, lane := range t.Lanes {
		r, ok := rank[pidRank(lane.PID)]
		if !ok {
			r = -1
		}
		l.ranks[i] = r
	}
	l.last = make([]int, len(l.ids))
	return l
}

// sweepLaunches calls each for every launch that lies in a step.
func (a *Attribution) sweepLaunches(t *Trace, rows map[labelRow][]labelSpan, each func(ThreadID, launchStep)) {
	order := make([]int32, len(t.Launches))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(x, y int32) int { return cmp.Compare(t.Launches[x].Start, t.Launches[y].Start) })
	sweeps := make([]*labelSweep, len(t.Threads))
	for i, th := range t.Threads {
		sweeps[i] = newLabelSweep(rows[labelRow{th.PID, trimStream(th.TID), false}])
	}
	for _, i := range order {
		l := t.Launches[i]
		if step := sweeps[l.Thread].at(l.Start); step >= 0 && l.Correlation > 0 {
			each(l.Thread, launchStep{l.Correlation, step})
		}
	}
}

// step is the step that a correlation id leads to from a kernel of a lane.
// Neighbours mostly have the same id or the next one, so the search begins
// where the last one ended.
func (l *launchSteps) step(id int64, lane LaneID) int32 {
	r := l.ranks[lane]
	if r < 0 || id <= 0 {
		return NoStep
	}
	ids := l.ids[r]
	for i := l.last[r]; i < len(ids) && i <= l.last[r]+1; i++ {
		if ids[i].id == id {
			l.last[r] = i
			return ids[i].step
		}
	}
	i, ok := slices.BinarySearchFunc(ids, id, func(s launchStep, id int64) int { return cmp.Compare(s.id, id) })
	if !ok {
		return NoStep
	}
	l.last[r] = i
	return ids[i].step
}
