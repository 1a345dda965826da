package report

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/tracelayer/tracelayer"
	"github.com/tracelayer/tracelayer/internal/texttab"
)

// writeParts writes what runs in front of a pass's first layer and behind its
// last one.
func (l *Layers) writeParts(b *bytes.Buffer) {
	for _, p := range l.parts() {
		fmt.Fprintf(b, "\n%s (%s, %s)\n", p.title, count(len(p.Positions), "kernel"), passes(p.Layers))
		tab := l.table(p.Group, "Max pass", p.in)
		fmt.Fprintln(b, tab.Head())
		for _, line := range tab.Lines() {
			fmt.Fprintln(b, line)
		}
		writeClosing(b, tab.End(2), "TOTAL per pass", fixed(p.TotalUS, 1), "us")
		if p.Others > 0 {
			fmt.Fprintf(b, "%s%s more with other kernels, not in the numbers\n", indent, passes(p.Others))
		}
	}
}

// writeTimes writes how layers use time, and where the time of the passes goes.
// The last line adds up as printed: all its numbers are whole nanoseconds.
func (l *Layers) writeTimes(b *bytes.Buffer) {
	columns := []texttab.Column{
		{Head: "Time per layer (us)", Width: 35, Left: true},
		{Head: "Wall", Width: 9, Gap: 1},
		{Head: "Busy", Width: 9, Gap: 1},
		{Head: "Idle", Width: 9, Gap: 1},
		{Head: "Comm", Width: 9, Gap: 1},
		{Head: "Exposed comm", Gap: 2},
	}
	groups := l.Summary.Groups[:l.shownGroups()]
	lanes := lanesOf(groups)
	for _, lane := range lanes {
		columns = append(columns, texttab.Column{Head: "Stream " + Printable(l.trace().Lanes[lane].Stream), Gap: 2})
	}
	tab := texttab.New(columns...)
	for _, g := range groups {
		row := []string{
			Printable(g.Key), fixed(g.WallUS, 1), fixed(g.BusyUS, 1), fixed(g.IdleUS(), 1),
			fixed(g.CommUS, 1), fixed(g.ExposedCommUS, 1),
		}
		for _, lane := range lanes {
			row = append(row, fixed(busyIn(g, lane), 1))
		}
		tab.Row(row...)
	}
	b.WriteByte('\n')
	_, _ = tab.WriteTo(b) // a buffer does not fail
	p := l.Summary.Passes
	fmt.Fprintf(b, "%s: layers %s + prologue %s + epilogue %s + idle %s = span %s us\n", passes(len(l.keptPasses())),
		exactUS(p.Layers), exactUS(p.Prologue), exactUS(p.Epilogue), exactUS(p.Idle), exactUS(p.Span))
}

// lanesOf are the lanes that the layers run in, in order; none if there is only
// one, whose busy time is that of the layers.
func lanesOf(groups []tracelayer.Group) []tracelayer.LaneID {
	var all []tracelayer.LaneID
	for _, g := range groups {
		for _, st := range g.Streams {
			all = append(all, st.Lane)
		}
	}
	slices.Sort(all)
	if all = slices.Compact(all); len(all) < 2 {
		return nil
	}
	return all
}

// busyIn is the mean busy time of a group's layers in one lane, in microseconds.
func busyIn(g tracelayer.Group, lane tracelayer.LaneID) float64 {
	for _, st := range g.Streams {
		if st.Lane == lane {
			return st.BusyUS
		}
	}
	return 0
}

// exactUS is a time in microseconds with all its digits.
func exactUS(d time.Duration) string { return fmt.Sprintf("%d.%03d", d/1000, d%1000) }

// writeStrays says which kernels are in no pass.
func (l *Layers) writeStrays(b *bytes.Buffer) {
	strays, none := l.strays(), l.segments().NoAnchor
	if len(strays) > 0 || none > 0 {
		b.WriteByte('\n')
	}
	for _, s := range strays {
		fmt.Fprintf(b, "Strays: %s of %s, busy %s us that no time above counts\n", count(s.kernels, "kernel"), Printable(s.lane.String()), exactUS(s.busy))
	}
	if none > 0 {
		fmt.Fprintf(b, "In passes without an anchor: %s\n", count(none, "kernel"))
	}
}

// writeEvidence says what the division into steps rests on, and how busy each
// stream was.
func (l *Layers) writeEvidence(b *bytes.Buffer) {
	a := l.segments().Attribution
	n := len(a.Step)
	fmt.Fprintf(b, "\nKernels in steps: %s by GPU label, %s by launch, %s in none (of %s)\n",
		percentOf(a.ByLabel, n), percentOf(a.ByLaunch, n), percentOf(a.Unplaced, n), count(n, "kernel"))
	if streams := l.streamTotals(); len(streams) > 1 {
		for _, st := range streams {
			fmt.Fprintf(b, "Busy in %s: %s us of %s\n", passes(len(l.keptPasses())), exactUS(st.Busy), Printable(l.trace().Lanes[st.Lane].String()))
		}
	}
	if t := l.Summary.Passes; t.Clipped > 0 {
		fmt.Fprintf(b, "Clipped: %s\n", clippedText(t))
	}
}
