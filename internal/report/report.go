// Package report turns results into text, CSV and JSON. It is the only place
// that formats: what it writes depends on the values alone, so the same input
// gives the same bytes.
//
// Names in a trace are untrusted. In text and CSV a character that is not
// printable is written as its Go escape ([Printable]), in JSON as a JSON
// escape, and no CSV cell can start a formula.
package report

import (
	"time"

	"github.com/tracelayer/tracelayer"
)

// Auto is the value of Layers.Streams with which whole layers are cut, from
// all streams that take part in them.
const Auto = "auto"

// Layers is the result of trace_layer. Its methods write it.
type Layers struct {
	Summary *tracelayer.Summary
	// Decode is what the step labels say, nil when no label is a decode step.
	Decode *tracelayer.DecodeBS
	// NoDecode says why Decode is nil, where there is more to say than that.
	NoDecode string
	// Streams is "auto", "merged", or the one stream whose kernels were taken.
	Streams string
	// Filter is the choice of passes as it was asked for, without defaults.
	Filter tracelayer.PassFilter
	// BySignature: Summary has one group for each distinct layer.
	BySignature bool
	// Wide adds to the text: percentiles and the place of the maximum, how
	// kernels were put into steps, and the busy time of each stream.
	Wide bool
}

func (l *Layers) segments() *tracelayer.Segments { return l.Summary.Segments }

func (l *Layers) trace() *tracelayer.Trace { return l.Summary.Segments.Trace }

// whole reports whether whole layers were cut, so that there are passes with a
// prologue and an epilogue. The other way is the script's.
func (l *Layers) whole() bool { return l.segments().Cut == tracelayer.CutLayers }

// kernels is the number of selected kernels.
func (l *Layers) kernels() int {
	s := l.segments()
	if !l.whole() {
		return len(s.Order)
	}
	n := len(s.Strays) + s.NoAnchor
	for _, p := range s.Passes {
		n += int(p.End - p.Start)
	}
	return n
}

// sampled is the number of layers behind the tables.
func (l *Layers) sampled() int {
	n := 0
	for _, g := range l.Summary.Groups {
		n += g.Layers
	}
	return n
}

// leftOut is the number of anchors that opened no kept layer.
func (l *Layers) leftOut() int {
	n := 0
	for _, o := range l.segments().LeftOut {
		n += o.Layers
	}
	return n
}

// perPass is the number of layers of a group in one pass, on average, and their
// time. It is false without proof enough: a known number of layers, all of
// them measured or like the ones that were.
func (l *Layers) perPass(g tracelayer.Group) (layers, ms float64, ok bool) {
	s := l.segments()
	switch {
	case s.LayersPerPass <= 0 || !s.Alike:
		return 0, 0, false
	case !l.whole():
		layers = float64(s.LayersPerPass)
		ok = len(l.Summary.Groups) == 1
	default:
		layers = float64(g.Layers) / float64(s.NumPasses)
		ok = l.sampled() == s.NumPasses*s.LayersPerPass
	}
	return layers, g.TotalUS * layers / 1000, ok
}

// passMS is the time of the layers of one pass, and whether there is proof
// enough to print it.
func (l *Layers) passMS() (ms float64, ok bool) {
	for _, g := range l.Summary.Groups {
		_, part, known := l.perPass(g)
		if !known {
			return 0, false
		}
		ms += part
	}
	return ms, len(l.Summary.Groups) > 0
}

// A place leads from Position.Max to the kernels it is the index of, and to the
// number they are shown under.
type place func(at int) (number int, kernels []int32)

// inLayers is the place of the positions of a layer: the ordinal of its anchor.
func (l *Layers) inLayers(at int) (int, []int32) {
	s := l.segments()
	return s.Layers[at].Ordinal, s.Order[s.Layers[at].Start:s.Layers[at].End]
}

func (l *Layers) inPrologue(at int) (int, []int32) {
	return at, l.segments().Prologue(l.segments().Passes[at])
}

func (l *Layers) inEpilogue(at int) (int, []int32) {
	return at, l.segments().Epilogue(l.segments().Passes[at])
}

// maxAt finds the longest kernel of p: the number of the layer or pass it is
// in, and its start on the Perfetto clock in seconds. It is false when p has no
// sample.
func (l *Layers) maxAt(p tracelayer.Position, in place) (number int, seconds float64, ok bool) {
	if p.N == 0 {
		return 0, 0, false
	}
	number, kernels := in(p.Max)
	t := l.trace()
	return number, float64(t.Kernels[kernels[p.Pos]].Start-t.Origin) / 1e9, true
}

// A part is the prologue or the epilogue, with what it takes to show it.
type part struct {
	key, title string
	*tracelayer.Part
	in place
}

// parts are those that some kept pass has.
func (l *Layers) parts() []part {
	var all []part
	if p := l.Summary.Prologue; p != nil {
		all = append(all, part{"prologue", "Prologue", p, l.inPrologue})
	}
	if p := l.Summary.Epilogue; p != nil {
		all = append(all, part{"epilogue", "Epilogue", p, l.inEpilogue})
	}
	return all
}

// streamTotals adds up the busy time of each stream in the kept passes.
func (l *Layers) streamTotals() []tracelayer.StreamTime {
	s := l.segments()
	m := tracelayer.NewMeter(s.Trace, s.Profile)
	var all []tracelayer.StreamTime
	busy := make([]tracelayer.StreamTime, len(s.Trace.Lanes))
	for _, p := range l.keptPasses() {
		t := m.Times(s.Order[p.Start:p.End])
		for _, st := range t.Streams {
			busy[st.Lane].Busy += st.Busy
		}
	}
	for i, b := range busy {
		if b.Busy > 0 {
			all = append(all, tracelayer.StreamTime{Lane: tracelayer.LaneID(i), Busy: b.Busy})
		}
	}
	return all
}

// A strayLane is the strays of one lane.
type strayLane struct {
	lane    tracelayer.Lane
	kernels int
	busy    time.Duration
}

// strays adds up the strays by lane, in order of lane.
func (l *Layers) strays() []strayLane {
	s, t := l.segments(), l.trace()
	if len(s.Strays) == 0 {
		return nil
	}
	count := make([]int, len(t.Lanes))
	for _, k := range s.Strays {
		count[t.Kernels[k].Lane]++
	}
	busy := make([]time.Duration, len(t.Lanes))
	for _, st := range tracelayer.NewMeter(t, s.Profile).Times(s.Strays).Streams {
		busy[st.Lane] = st.Busy
	}
	var all []strayLane
	for i, n := range count {
		if n > 0 {
			all = append(all, strayLane{t.Lanes[i], n, busy[i]})
		}
	}
	return all
}
