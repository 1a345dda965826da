package report

import (
	"fmt"
	"strings"

	"github.com/tracelayer/tracelayer"
)

// averagedNotes say what the layers of the table have in common and what not:
// layers of several phases or batch sizes in one average are no mistake, but no
// one should take them for one thing.
func (l *Layers) averagedNotes() []string {
	var notes []string
	if !l.whole() {
		notes = l.mixedLayers()
		if note := l.sharedAnchor(); note != "" {
			notes = append(notes, note)
		}
	} else if kinds := l.stepKinds(); len(kinds) > 1 {
		notes = append(notes, Printable(fmt.Sprintf("passes of %d kinds are averaged together: %s; --phase, --bs, --graph-bs and --passes choose",
			len(kinds), listKinds(kinds))))
	}
	return notes
}

// mixedLayers says what steps the layers are from, where no passes tell.
func (l *Layers) mixedLayers() []string {
	s := l.segments()
	var notes []string
	if len(s.Phases) > 1 {
		var parts []string
		for _, p := range s.Phases {
			of := fmt.Sprintf("in a %s step", p.Phase)
			if p.Phase == tracelayer.PhaseUnknown {
				of = "in no labelled step"
			}
			parts = append(parts, fmt.Sprintf("%s %s", count(p.Layers, "layer"), of))
		}
		notes = append(notes, "the averages mix phases: "+strings.Join(parts, ", "))
	}
	if l.Decode != nil && len(s.Sizes) > 0 && (len(s.Sizes) > 1 || s.Sizes[0].BS != l.Decode.Dominant) {
		var parts []string
		for _, z := range s.Sizes {
			parts = append(parts, fmt.Sprintf("%s at bs %d", count(z.Layers, "layer"), z.BS))
		}
		notes = append(notes, fmt.Sprintf("the averages are not of batch size %d alone: %s", l.Decode.Dominant, strings.Join(parts[:min(len(parts), 8)], ", ")))
	}
	return notes
}

// sharedAnchor names steps whose layers may have the same kernels as those of
// a decode step and mean something else.
func (l *Layers) sharedAnchor() string {
	draft, verify, tbo := 0, 0, 0
	for _, st := range tracelayer.Steps(l.trace()) {
		switch {
		case st.Phase == tracelayer.PhaseDraft:
			draft++
		case st.Phase == tracelayer.PhaseVerify:
			verify++
		case st.TBO && st.Phase != tracelayer.PhaseCapture && st.Phase != tracelayer.PhaseDummy:
			tbo++
		}
	}
	var shown []string
	if draft > 0 {
		shown = append(shown, count(draft, "draft step"))
	}
	if verify > 0 {
		shown = append(shown, count(verify, "verify step"))
	}
	switch {
	case len(shown) > 0:
		return "the labels show " + strings.Join(shown, " and ") + ": layers of the draft and the target model that share the anchor " +
			"are averaged together; --streams auto keeps them apart"
	case tbo > 0:
		return fmt.Sprintf("the labels show %s of two micro-batches (tbo): their kernels interleave, "+
			"and what lies from one anchor to the next is no layer", count(tbo, "step"))
	}
	return ""
}
