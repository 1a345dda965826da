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
