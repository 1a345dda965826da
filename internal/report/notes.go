package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tracelayer/tracelayer"
	"github.com/tracelayer/tracelayer/internal/texttab"
)

const (
	// warmUp is how late the first kernel may come before it is remarked on:
	// ROCm's profiler is known to need about two seconds.
	warmUp = 1.0 // seconds
	// fewLayers is the number of layers below which the statistics say little.
	fewLayers = 5
)

// Warnings says what was odd in the file and how it was read, one line each.
// They go to stderr; JSON has them in its warnings.
func Warnings(t *tracelayer.Trace) []string {
	var lines []string
	for _, w := range t.Warnings {
		lines = append(lines, Printable(w.String()))
	}
	return lines
}

// Notes says what the numbers rest on and what they leave out, one line each.
// They go to stderr; JSON has them in its warnings.
func (l *Layers) Notes() []string {
	s, t := l.segments(), l.trace()
	var notes []string
	if l.whole() || len(s.Sizes) == 0 { // no label leads to a kernel, so the labels are all there is to say
		notes = l.LabelNotes()
	}
	notes = append(notes, l.averagedNotes()...)
	add := func(format string, args ...any) { notes = append(notes, Printable(fmt.Sprintf(format, args...))) }
	if left := len(t.Kernels) - l.kernels(); left > 0 {
		add("%d of %s in the trace were not selected and are not counted above", left, count(len(t.Kernels), "kernel"))
	}
	if late := l.firstKernel(); late >= warmUp {
		add("the first kernel starts %.1f s after the trace: the profiler was still warming up before it, which is normal", late)
	}
	if s.Tie {
		add("%s", l.tie())
	}
	if n := s.Reordered; n > 0 {
		add("in %s the kernels of the streams started in another order than in most layers with the same kernels, and are counted in the order of most", count(n, "layer"))
	}
	for _, why := range []string{l.overlap(), l.clipped()} {
		if why != "" {
			add("%s", why)
		}
	}
	if n := l.sampled(); n < fewLayers {
		add("only %s sampled: record for longer (send more prompts) before relying on the numbers", count(n, "layer"))
	}
	if why := l.noPassLine(); why != "" {
		add("no xN layers line: %s", why)
	} else if s.Evidence != "" {
		add("x%d layers: %s", s.LayersPerPass, s.Evidence)
	}
	return notes
}

// overlapFrom is how much longer than a layer its kernels may be together before
// it is remarked on.
const overlapFrom = 1.01

// overlap says that a layer takes less time than its kernels add up to.
func (l *Layers) overlap() string {
	if !l.whole() {
		return ""
	}
	var items []string
	for _, g := range l.Summary.Groups {
		if g.TotalUS > overlapFrom*g.WallUS {
			items = append(items, fmt.Sprintf("%s: %s us in %s us", g.Key, fixed(g.TotalUS, 1), fixed(g.WallUS, 1)))
		}
	}
	if len(items) == 0 {
		return ""
	}
	why := "kernels of a layer run side by side"
	if l.Summary.Passes.Clipped > 0 {
		why += ", or complete earlier than they are stamped"
	}
	return why + ", so TOTAL and the times of several layers are longer than a layer's wall time (" + strings.Join(items, ", ") + ")"
}

// clipped says how many overruns were taken out of busy and idle time.
func (l *Layers) clipped() string {
	if !l.whole() {
		return ""
	}
	if t := l.Summary.Passes; t.Clipped > 0 {
		return "in busy and idle times: " + clippedText(t)
	}
	return ""
}

func clippedText(t tracelayer.PassTimes) string {
	return fmt.Sprintf("%s clipped by %s us in all, where late completion stamps (AMD) run a microsecond or more into the next kernel of the stream",
		count(t.Clipped, "kernel"), exactUS(t.ClippedBy))
}

// LabelNotes are the notes on the step labels: why there is no decode batch
// size, or that there are several. They need no Summary.
func (l *Layers) LabelNotes() []string {
	d := l.Decode
	switch {
	case d == nil && l.NoDecode != "":
		return []string{Printable(l.NoDecode)}
	case d == nil || l.Streams == Auto:
		return nil // with Auto the passes tell; see averagedNotes
	}
	if n := d.Steps - stepsOf(d, d.Dominant); n > 0 {
		return []string{fmt.Sprintf("%d of %s are not of batch size %d; their layers are in the averages too, if they have as many kernels",
			n, count(d.Steps, "decode step"), d.Dominant)}
	}
	return nil
}

// stepsOf is the number of decode steps of one batch size.
func stepsOf(d *tracelayer.DecodeBS, bs int) int {
	for _, c := range d.Counts {
		if c.BS == bs {
			return c.Steps
		}
	}
	return 0
}

// firstKernel is the time from Perfetto's zero to the first selected kernel, or
// 0 if that zero is the made-up time of a kernel without timing.
func (l *Layers) firstKernel() float64 {
	s, t := l.segments(), l.trace()
	noTiming := slices.ContainsFunc(t.Warnings, func(w tracelayer.Warning) bool { return w.Kind == "no_timing" })
	if len(s.Order) == 0 || noTiming {
		return 0
	}
	first := t.Kernels[s.Order[0]].Start
	for _, k := range s.Order {
		first = min(first, t.Kernels[k].Start)
	}
	return float64(first-t.Origin) / 1e9
}

// tie says which layer lengths were equally frequent.
func (l *Layers) tie() string {
	s := l.segments()
	text := fmt.Sprintf("a layer of %s is a guess", count(s.KernelsPerLayer, "kernel"))
	if len(s.Gaps) == 0 {
		return text
	}
	for _, g := range s.Gaps {
		if g.Kernels != s.KernelsPerLayer && g.Count == s.Gaps[0].Count {
			return fmt.Sprintf("%s: %d kernels from anchor to anchor is as frequent (%d times each)", text, g.Kernels, g.Count)
		}
	}
	return text
}

// noPassLine says why there is no time for all layers of a pass, empty when
// there is one.
func (l *Layers) noPassLine() string {
	if _, ok := l.passMS(); ok {
		return ""
	}
	s := l.segments()
	switch {
	case s.LayersPerPass <= 0 && s.Evidence != "":
		return s.Evidence
	case s.LayersPerPass <= 0:
		return "the number of layers of a pass is not known"
	case !s.Alike:
		return fmt.Sprintf("not every layer of a pass is like the measured ones (%s)", s.Evidence)
	}
	return fmt.Sprintf("the layers are of %s", count(len(l.Summary.Groups), "kind"))
}

// candidateRunes is how much of a candidate's name is shown: enough to choose
// a part of it as the pattern.
const candidateRunes = 100

// WriteCandidates writes the kernels that could serve as the anchor.
func WriteCandidates(w io.Writer, cs []tracelayer.Candidate) error {
	tab := texttab.New(
		texttab.Column{Head: "Count", Width: 7},
		texttab.Column{Head: "Even", Width: 6, Gap: 2},
		texttab.Column{Head: "Kernels between", Gap: 2},
		texttab.Column{Head: "Name", Gap: 2, Left: true},
	)
	for _, c := range cs {
		tab.Row(fmt.Sprint(c.Count), fixed(c.Evenness*100, 0)+"%", fmt.Sprint(c.Between),
			clip(Printable(c.Name), candidateRunes))
	}
	_, err := tab.WriteTo(w)
	return err
}
