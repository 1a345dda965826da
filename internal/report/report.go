// Package report turns results into text, CSV and JSON. It is the only place
// that formats: what it writes depends on the values alone, so the same input
// gives the same bytes.
//
// Names in a trace are untrusted. In text and CSV a character that is not
// printable is written as its Go escape ([Printable]), in JSON as a JSON
// escape, and no CSV cell can start a formula.
package report

import (
	"github.com/tracelayer/tracelayer"
)

// Layers is the result of trace_layer. Its methods write it.
type Layers struct {
	Summary *tracelayer.Summary
	// Decode is what the step labels say, nil when no label is a decode step.
	Decode *tracelayer.DecodeBS
	// NoDecode says why Decode is nil, where there is more to say than that.
	NoDecode string
	// Streams is "merged", or the one stream whose kernels were taken.
	Streams string
	// BySignature: Summary has one group for each distinct layer.
	BySignature bool
	// Wide adds the percentiles and the place of the maximum to the text.
	Wide bool
}

func (l *Layers) segments() *tracelayer.Segments { return l.Summary.Segments }

func (l *Layers) trace() *tracelayer.Trace { return l.Summary.Segments.Trace }

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

// passMS is the time of the layers of one pass, and whether there is proof
// enough to print it: a known number of layers, all of them like the ones
// that were measured.
func (l *Layers) passMS() (ms float64, ok bool) {
	s := l.segments()
	if s.LayersPerPass <= 0 || !s.Alike || len(l.Summary.Groups) != 1 {
		return 0, false
	}
	return l.Summary.Groups[0].TotalUS * float64(s.LayersPerPass) / 1000, true
}

// maxAt finds the longest kernel of p: the ordinal of its layer's anchor, and
// its start on the Perfetto clock in seconds. It is false when p has no sample.
func (l *Layers) maxAt(p tracelayer.Position) (layer int, seconds float64, ok bool) {
	if p.N == 0 {
		return 0, 0, false
	}
	s := l.segments()
	at := s.Layers[p.Max]
	k := s.Trace.Kernels[s.Order[int(at.Start)+p.Pos]]
	return at.Ordinal, float64(k.Start-s.Trace.Origin) / 1e9, true
}
