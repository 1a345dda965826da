package tracelayer

import (
	"cmp"
	"fmt"
	"slices"
)

// countPasses finds how many layers a pass has: numLayers if that is given,
// else what the trace's own labels prove.
func (s *Segments) countPasses(numLayers int) error {
	steps, of := s.anchorSteps()
	s.countPhases(steps, of)
	layers, why := s.layersByStep(steps, of)
	if numLayers <= 0 {
		s.Evidence = why
		return nil
	}
	if layers > 0 && layers != numLayers {
		return refuse(ErrRemainder, "%d anchors, %d layers a pass: but %s", s.Anchors, numLayers, why)
	}
	return s.passesGiven(numLayers)
}

// anchorSteps returns the trace's steps and, for each anchor, the one that it
// belongs to, or NoStep.
func (s *Segments) anchorSteps() ([]Step, []int32) {
	kernels := make([]int32, len(s.anchors))
	for i, a := range s.anchors {
		kernels[i] = s.Order[a]
	}
	a := attribute(s.Trace, kernels)
	return a.Steps, a.Step
}

// countPhases counts the kept layers by the phase of their steps, and those of
// decode steps by size.
func (s *Segments) countPhases(steps []Step, of []int32) {
	var counts [len(phaseNames)]int
	for _, l := range s.Kept() {
		phase := PhaseUnknown
		if step := of[l.Ordinal]; step >= 0 {
			phase = steps[step].Phase
			if phase == PhaseDecode {
				s.countSize(steps[step].Requests)
			}
		}
		counts[phase]++
	}
	slices.SortStableFunc(s.Sizes, func(a, b SizeLayers) int { return cmp.Compare(b.Layers, a.Layers) })
	for p, n := range counts {
		if n > 0 {
			s.Phases = append(s.Phases, PhaseLayers{Phase(p), n})
		}
	}
}

func (s *Segments) countSize(bs int) {
	i := slices.IndexFunc(s.Sizes, func(z SizeLayers) bool { return z.BS == bs })
	if i < 0 {
		i = len(s.Sizes)
		s.Sizes = append(s.Sizes, SizeLayers{BS: bs})
	}
	s.Sizes[i].Layers++
}

const askLayers = "; give --num-layers to get a pass's time"

// layersByStep is the number of anchors that every decode step has, if the kept
// layers are of those steps and all alike. Then it notes it, with the number of
// steps. It says in words what it rests on, or why it is 0.
func (s *Segments) layersByStep(steps []Step, of []int32) (layers int, why string) {
	unknown := func(format string, args ...any) (int, string) {
		return 0, "layers per pass unknown: " + fmt.Sprintf(format, args...) + askLayers
	}
	var runs []passRun
	for i, step := range of {
		if n := len(runs); n > 0 && runs[n-1].step == step {
			runs[n-1].n++
			continue
		}
		runs = append(runs, passRun{step, i, 1})
	}
	decode := slices.DeleteFunc(slices.Clone(runs), func(r passRun) bool { return r.step < 0 || steps[r.step].Phase != PhaseDecode })
	for _, r := range decode {
		if st := steps[r.step]; st.TBO || st.Spec > 0 {
			return unknown("step %q has micro-batches or drafted tokens, whose layers may share the anchor", st.Name)
		}
	}
	if len(decode) < 2 {
		return unknown("labels and launches place the anchors in %d decode steps, at least 2 are needed to compare", len(decode))
	}
	whole := wholeRuns(decode)
	switch {
	case whole == 0:
		return unknown("the decode steps do not have equally many anchors")
	case !s.allKeptIn(decode, of):
		return unknown("not all the layers kept are of decode steps")
	case len(s.signs) > 1:
		return unknown("the layers kept have %d different sequences of kernels", len(s.signs))
	case repeats(s.signs[0]):
		return unknown("from one anchor to the next a block of kernels repeats, as if several layers lay there")
	case !s.allAlike(decode):
		return unknown("the decode steps hold layers of other kinds than those kept")
	}
	s.LayersPerPass, s.NumPasses, s.Alike = whole, len(decode), true
	return whole, fmt.Sprintf("%d anchors in each of %d decode steps, by their labels", whole, len(decode))
}

// A passRun is a number of consecutive anchors of one step.
type passRun struct {
	step     int32
	first, n int // anchors
}

// wholeRuns is the number of anchors that all runs have; the first and the
// last may have fewer, where the recording began or ended. It is 0 when they differ.
func wholeRuns(runs []passRun) int {
	most := 0
	for _, r := range runs {
		most = max(most, r.n)
	}
	for i, r := range runs {
		if r.n != most && i > 0 && i < len(runs)-1 {
			return 0
		}
	}
	if len(runs) == 2 && runs[0].n != runs[1].n || most < 2 {
		return 0
	}
	return most
}

// allKeptIn reports whether every kept layer begins in one of the runs.
func (s *Segments) allKeptIn(runs []passRun, of []int32) bool {
	in := map[int32]bool{}
	for _, r := range runs {
		in[r.step] = true
	}
	return !slices.ContainsFunc(s.Layers, func(l Layer) bool { return !in[of[l.Ordinal]] })
}

// allAlike reports whether every interval that begins in one of the runs holds
// the kernels of the kept layers in order. Within a run only strays may stand
// between them; behind its last anchor also the end of a pass and the beginning
// of the next. Of the trace's last interval the end is not known.
func (s *Segments) allAlike(runs []passRun) bool {
	for _, r := range runs {
		for i := r.first; i < min(r.first+r.n, len(s.gaps)); i++ {
			if !s.holdsLayer(i, i == r.first+r.n-1) {
				return false
			}
		}
	}
	return true
}

// holdsLayer reports whether the interval behind an anchor holds the kernels of
// a kept layer in order. What stands between them has to be of another stream
// than the anchor, unless anything may.
func (s *Segments) holdsLayer(anchor int, anything bool) bool {
	if int(s.gaps[anchor]) == s.KernelsPerLayer {
		return true // then it is kept
	}
	t := s.Trace
	kernels := s.Order[s.anchors[anchor]:s.anchors[anchor+1]]
	lane := t.Kernels[kernels[0]].Lane
	return slices.ContainsFunc(s.signs, func(sign []NameID) bool {
		n := 0
		for _, k := range kernels {
			switch {
			case n < len(sign) && t.Kernels[k].Name == sign[n]:
				n++
			case !anything && t.Kernels[k].Lane == lane:
				return false
			}
		}
		return n == len(sign)
	})
}

// repeats reports whether a sequence has a block of four or more kernels twice
// in a row: then it may be that of several layers, only one of which has the anchor.
func repeats(sign []NameID) bool {
	for block := 4; 2*block <= len(sign); block++ {
		same := 0
		for i := block; i < len(sign); i++ {
			if same++; sign[i] != sign[i-block] {
				same = 0
			}
			if same == block {
				return true
			}
		}
	}
	return false
}

// holdsAnother reports whether a layer is another one and, in front of it or
// behind it, four or more kernels: a layer without the anchor may lie there.
func (s *Segments) holdsAnother() bool {
	for _, long := range s.signs {
		for _, short := range s.signs {
			n := len(short)
			if len(long) >= n+4 && (slices.Equal(long[:n], short) || slices.Equal(long[len(long)-n:], short)) {
				return true
			}
		}
	}
	return false
}

// passesGiven divides the anchors by a number of layers that the user knows.
func (s *Segments) passesGiven(layers int) error {
	passes, rest := s.Anchors/layers, s.Anchors%layers
	if rest != 0 {
		return refuse(ErrRemainder, "%d anchors, %d layers a pass: %d passes and remainder %d; "+
			"the trace may begin or end within a pass, hold draft or prefill passes, or have several anchors a layer",
			s.Anchors, layers, passes, rest)
	}
	if at := s.strayEnd(layers); at > 0 {
		return refuse(ErrRemainder, "%d anchors, %d layers a pass: but from anchor %d to the next there are %d kernels, and a layer has %d: "+
			"passes seem to end elsewhere", s.Anchors, layers, at-1, s.gaps[at-1], s.KernelsPerLayer)
	}
	s.LayersPerPass, s.NumPasses = layers, passes
	s.Evidence = fmt.Sprintf("%d layers a pass as given, %d anchors in all (passes: %d)", layers, s.Anchors, passes)
	var runs []passRun
	for i := range passes {
		runs = append(runs, passRun{NoStep, i * layers, layers})
	}
	switch {
	case len(s.signs) > 1:
		s.Evidence += fmt.Sprintf("; but the layers kept have %d different sequences of kernels", len(s.signs))
	case !s.allAlike(runs):
		s.Evidence += "; but some layers are of other kinds than those kept"
	default:
		s.Alike = true
	}
	return nil
}

// strayEnd finds an interval that is longer than a layer with its strays, and so
// could be the end of a pass, where no given pass ends, though others do. It
// returns the anchor behind it, or 0.
func (s *Segments) strayEnd(layers int) int {
	long := func(i int) bool { return int(s.gaps[i]) > s.KernelsPerLayer && !s.holdsLayer(i, false) }
	ends, missed := 0, 0
	for i := range s.gaps {
		switch {
		case !long(i):
		case (i+1)%layers == 0:
			ends++
		case missed == 0:
			missed = i + 1
		}
	}
	if missed == 0 && ends > 0 && ends < s.Anchors/layers-1 {
		return layers // some passes end where a pass does, and some where nothing is
	}
	return missed
}
