package tracelayer

import (
	"fmt"
	"slices"
)

// countPasses finds how many layers a pass has: numLayers if that is given,
// else what a recurring run of anchors proves.
func (s *Segments) countPasses(numLayers int) error {
	if numLayers > 0 {
		return s.passesGiven(numLayers)
	}
	s.passesFound()
	return nil
}

// passesGiven divides the anchors by a number of layers that the user knows.
func (s *Segments) passesGiven(layers int) error {
	passes, rest := s.Anchors/layers, s.Anchors%layers
	if rest != 0 {
		return refuse(ErrRemainder, "%d anchors, %d layers a pass: %d passes and remainder %d; "+
			"the trace may begin or end within a pass, hold draft or prefill passes, or have several anchors a layer",
			s.Anchors, layers, passes, rest)
	}
	s.LayersPerPass, s.Passes = layers, passes
	s.Evidence = fmt.Sprintf("%d layers a pass as given, %d anchors in all (passes: %d)", layers, s.Anchors, passes)
	if s.Alike = s.alike(0); !s.Alike {
		s.Evidence += ", but not all their layers have the same kernels, so the mean layer times that is no pass"
	}
	return nil
}

// passesFound looks for passes in the gaps. A pass of L layers shows as L-1
// dominant gaps and then one other gap, that of the step to the next pass. The
// same picture comes of a stack in which every L-th layer differs, so it counts
// only if the trace's own labels say that there were as many steps.
func (s *Segments) passesFound() {
	decode, others := 0, 0
	for _, st := range Steps(s.Trace) {
		switch st.Phase {
		case PhaseDecode:
			decode++
		case PhasePrefill, PhaseMixed, PhaseVerify, PhaseEager:
			others++
		}
	}
	const ask = "; give --num-layers to get a pass's time"
	if decode < 2 {
		s.Evidence = fmt.Sprintf("layers per pass unknown: too few decode steps in the labels (%d, at least 2 to compare)%s", decode, ask)
		return
	}
	first, sizes := s.runs()
	layers, passes := wholeRuns(sizes)
	if layers > 0 && sizes[0] < layers {
		first += sizes[0] // the trace begins within a pass
	}
	switch {
	case layers == 0:
		s.Evidence = "layers per pass unknown: the runs of equal layers do not recur at one length" + ask
		return
	case passes < decode-1 || passes > decode+others:
		s.Evidence = fmt.Sprintf("layers per pass unknown: %d runs of %d layers, but the labels show %d decode steps%s", passes, layers, decode, ask)
		return
	}
	s.LayersPerPass, s.Passes = layers, passes
	if !s.oneSignature(first) {
		s.LayersPerPass, s.Passes = 0, 0
		s.Evidence = fmt.Sprintf("layers per pass unknown: %d runs of %d intervals, but their kernels differ%s", passes, layers, ask)
		return
	}
	s.Alike = s.alike(first)
	s.Evidence = fmt.Sprintf("%d runs of %d layers for %d decode steps in the labels; "+
		"a pass's last layer is not measured and taken to be like the others", passes, layers, decode)
}

// runs splits the anchors at gaps that are not dominant. It returns the ordinal
// of the first anchor that is in a run of more than one, and the lengths of the
// runs from there on.
func (s *Segments) runs() (first int, sizes []int) {
	n := 1
	begin := 0
	for i := 0; i <= len(s.gaps); i++ {
		if i < len(s.gaps) && int(s.gaps[i]) == s.KernelsPerLayer {
			n++
			continue
		}
		if n > 1 || len(sizes) > 0 {
			if len(sizes) == 0 {
				first = begin
			}
			sizes = append(sizes, n)
		}
		begin, n = i+1, 1
	}
	return first, sizes
}

// wholeRuns is the length that all runs have, and how many have it. The first
// and the last may be cut off by the ends of the trace. It is 0 when they
// differ: what stands between the runs would be layers of another kind.
func wholeRuns(sizes []int) (length, n int) {
	if len(sizes) < 2 {
		return 0, 0
	}
	length = slices.Max(sizes)
	for i, size := range sizes {
		switch {
		case size == length:
			n++
		case i > 0 && i < len(sizes)-1:
			return 0, 0
		}
	}
	if n < 2 {
		return 0, 0
	}
	return length, n
}

// oneSignature reports whether all kept layers of the whole passes, which begin
// at the anchor first, have the same sequence of names.
func (s *Segments) oneSignature(first int) bool {
	sign := int32(-1)
	for i, l := range s.Layers {
		if l.Ordinal < first || l.Ordinal >= first+s.Passes*s.LayersPerPass {
			continue
		}
		if sign >= 0 && s.signatures[i] != sign {
			return false
		}
		sign = s.signatures[i]
	}
	return true
}

// alike reports whether every interval of the whole passes, which begin at the
// anchor first, holds the kernels of a kept layer in order, whatever strays
// stand between them. A pass's last interval runs on into the next pass and
// tells nothing.
func (s *Segments) alike(first int) bool {
	for i := range s.Passes * s.LayersPerPass {
		if i%s.LayersPerPass == s.LayersPerPass-1 {
			continue
		}
		if !s.holdsLayer(s.anchors[first+i], s.anchors[first+i+1]) {
			return false
		}
	}
	return true
}

// holdsLayer reports whether Order[start:end] holds one of the kept sequences of names.
func (s *Segments) holdsLayer(start, end int32) bool {
	for _, sign := range s.signs {
		n := 0
		for _, k := range s.Order[start:end] {
			if n < len(sign) && s.Trace.Kernels[k].Name == sign[n] {
				n++
			}
		}
		if n == len(sign) {
			return true
		}
	}
	return false
}
