package tracelayer

import (
	"fmt"
	"slices"
	"strings"
)

// A PassFilter chooses passes. The zero value takes the decode passes if the
// labels place nearly all kernels and there are decode steps, else all passes.
// Passes that are not whole are never kept, unless there is no whole one.
type PassFilter struct {
	// Phase is the phase of the passes' steps; PhaseUnknown is the default rule.
	Phase Phase
	// AllPhases takes passes of every phase, also those without a step.
	AllPhases bool
	// Requests and GraphBS are the numbers of requests and the padded graph size
	// of the steps; 0 takes all. Both ask for steps, and so do not go with
	// AllPhases on a trace without labels.
	Requests, GraphBS int
	// Only lists passes by their index in Segments.Passes; nil takes all.
	Only []int
	// Skip is a number of passes to leave out at the beginning, of those that
	// the other fields choose and that are whole.
	Skip int
}

// nearlyAll is the share of the kernels that labels must place for the default
// to go by phase.
const nearlyAll = 0.9

// filterPasses marks the passes that are not kept with the reason.
func (s *Segments) filterPasses(f PassFilter) error {
	f = s.fillFilter(f)
	s.Filter = f
	for _, i := range f.Only {
		if i < 0 || i >= len(s.Passes) {
			return refuse(ErrNoLayers, "there is no pass %d: the trace has %d, from 0", i, len(s.Passes))
		}
	}
	most := s.mostInRun()
	for i := range s.Passes {
		p := &s.Passes[i]
		if p.Anchors < most[p.run] {
			p.Out = fmt.Sprintf("run of another model in the step (anchors: %d, the main one has %d)", p.Anchors, most[p.run])
			continue
		}
		if p.Out = s.unwanted(*p, f); p.Out == "" && f.Only != nil && !slices.Contains(f.Only, i) {
			p.Out = "pass not chosen"
		}
	}
	s.dropCut()
	skipped := 0
	for i := range s.Passes {
		if p := &s.Passes[i]; p.Out == "" && skipped < f.Skip {
			skipped++
			p.Out = "pass skipped"
		}
	}
	return s.checkKept()
}

// mostInRun is the most anchors of the passes that are runs of one step.
func (s *Segments) mostInRun() map[int32]int {
	most := map[int32]int{}
	for _, p := range s.Passes {
		if p.run > 0 {
			most[p.run] = max(most[p.run], p.Anchors)
		}
	}
	return most
}

// fillFilter applies the default rule.
func (s *Segments) fillFilter(f PassFilter) PassFilter {
	if f.Phase != PhaseUnknown || f.AllPhases {
		return f
	}
	decode := slices.ContainsFunc(s.Passes, func(p Pass) bool { return p.Step >= 0 && s.Attribution.Steps[p.Step].Phase == PhaseDecode })
	a := s.Attribution
	if placed := len(a.Step) - a.Unplaced; decode && float64(placed) >= nearlyAll*float64(len(a.Step)) {
		f.Phase = PhaseDecode
	} else {
		f.AllPhases = true
	}
	return f
}

// unwanted says why a pass is not of the chosen kind, or "".
func (s *Segments) unwanted(p Pass, f PassFilter) string {
	if p.Step < 0 {
		if f.AllPhases && f.Requests == 0 && f.GraphBS == 0 {
			return ""
		}
		return "pass without a step label"
	}
	st := s.Attribution.Steps[p.Step]
	switch {
	case !f.AllPhases && st.Phase != f.Phase:
		return fmt.Sprintf("%s step", st.Phase)
	case f.Requests != 0 && st.Requests != f.Requests:
		return fmt.Sprintf("%s step of %d requests", st.Phase, st.Requests)
	case f.GraphBS != 0 && st.GraphBS != f.GraphBS:
		if st.GraphBS == 0 {
			return fmt.Sprintf("%s step that states no graph size", st.Phase)
		}
		return fmt.Sprintf("%s step of graph size %d", st.Phase, st.GraphBS)
	}
	return ""
}

// dropCut leaves passes out that are not whole, if a whole one is kept.
func (s *Segments) dropCut() {
	if !slices.ContainsFunc(s.Passes, func(p Pass) bool { return p.Out == "" && p.Cut == "" }) {
		return
	}
	for i := range s.Passes {
		if p := &s.Passes[i]; p.Out == "" && p.Cut != "" {
			p.Out = "pass not whole: it " + p.Cut
		}
	}
}

// checkKept refuses a choice without a layer.
func (s *Segments) checkKept() error {
	kept := 0
	for _, p := range s.Passes {
		if p.Out == "" {
			kept++
			if p.N > 0 {
				return nil
			}
		}
	}
	if kept == 0 {
		return refuse(ErrNoLayers, "none of the %d passes is kept: %s%s", len(s.Passes), s.outReasons(), s.noStepWhy())
	}
	return refuse(ErrNoLayers, "the %d passes kept have no whole layer: with one anchor in a pass there is nothing to compare it with", kept)
}

// noStepWhy says why no kernel belongs to a step, if that is so and the labels
// show steps.
func (s *Segments) noStepWhy() string {
	a, f := s.Attribution, s.Filter
	if f.AllPhases && f.Requests == 0 && f.GraphBS == 0 {
		return "" // it is not for want of a step
	}
	if len(a.Steps) == 0 || a.Unplaced < len(a.Step) {
		return ""
	}
	return fmt.Sprintf("; the labels show %d steps, but no kernel leads to one: kernels without any launch (launch calls recorded: %d), or of calls "+
		"outside the labels, have only the GPU's time, which says nothing about labels of the CPU; leave out --phase, --bs and --graph-bs", len(a.Steps), len(s.Trace.Launches))
}

// outReasons counts the passes that are Out by reason, in order of appearance.
func (s *Segments) outReasons() string {
	var reasons []string
	for _, w := range countBy(s.Passes, func(p Pass) string { return p.Out }) {
		if w.value != "" {
			reasons = append(reasons, fmt.Sprintf("%d: %s", w.n, w.value))
		}
	}
	return strings.Join(reasons, "; ")
}

type counted struct {
	value string
	n     int
}

// countBy counts the values of a list, in order of appearance.
func countBy[T any](list []T, of func(T) string) []counted {
	var all []counted
	for _, x := range list {
		v := of(x)
		i := slices.IndexFunc(all, func(c counted) bool { return c.value == v })
		if i < 0 {
			i = len(all)
			all = append(all, counted{value: v})
		}
		all[i].n++
	}
	return all
}
