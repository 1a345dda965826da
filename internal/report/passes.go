package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tracelayer/tracelayer"
)

// maxSizes is how many kinds of steps the head of the text lists; prefill
// steps may all be of different sizes.
const maxSizes = 6

// keptPasses are the passes behind the tables.
func (l *Layers) keptPasses() []tracelayer.Pass {
	return slices.DeleteFunc(slices.Clone(l.segments().Passes), func(p tracelayer.Pass) bool { return p.Out != "" })
}

// step is the step of a pass, nil where no label tells.
func (l *Layers) step(p tracelayer.Pass) *tracelayer.Step {
	if p.Step < 0 {
		return nil
	}
	return &l.segments().Attribution.Steps[p.Step]
}

// phase names the chosen phase.
func (l *Layers) phase() string {
	if f := l.segments().Filter; !f.AllPhases {
		return f.Phase.String()
	}
	return "all"
}

// phaseByDefault reports whether the user left the phase to the default rule.
func (l *Layers) phaseByDefault() bool {
	return l.Filter.Phase == tracelayer.PhaseUnknown && !l.Filter.AllPhases
}

// phaseRule says by what rule the phase was chosen.
func (l *Layers) phaseRule() string {
	if !l.phaseByDefault() {
		return "as asked"
	}
	s := l.segments()
	placed := "labels place " + l.placed() + " of the kernels"
	if !s.Filter.AllPhases {
		return "the default: " + placed
	}
	for _, p := range s.Passes {
		if st := l.step(p); st != nil && st.Phase == tracelayer.PhaseDecode {
			return "the default: " + placed + " only"
		}
	}
	if a := s.Attribution; len(a.Steps) > 0 && a.Unplaced == len(a.Step) {
		return fmt.Sprintf("the default: no kernel leads to a step label, by %s", count(len(s.Trace.Launches), "launch call"))
	}
	return "the default: no pass is known to be a decode step"
}

// placed is the share of the kernels that labels put into steps.
func (l *Layers) placed() string {
	a := l.segments().Attribution
	return percentOf(len(a.Step)-a.Unplaced, len(a.Step))
}

func percentOf(n, of int) string {
	if of == 0 {
		return "0.0%"
	}
	return fixed(share(float64(n)/float64(of), 100, 1), 1) + "%"
}

// A stepKind is what passes must have in common to be averaged without a word.
type stepKind struct {
	text   string
	passes int
}

// stepKinds counts the kept passes by phase, requests and graph size, most
// frequent first, equal ones in order of appearance.
func (l *Layers) stepKinds() []stepKind {
	var all []stepKind
	for _, p := range l.keptPasses() {
		text := kindText(l.step(p))
		i := slices.IndexFunc(all, func(k stepKind) bool { return k.text == text })
		if i < 0 {
			i = len(all)
			all = append(all, stepKind{text: text})
		}
		all[i].passes++
	}
	slices.SortStableFunc(all, func(a, b stepKind) int { return cmp.Compare(b.passes, a.passes) })
	return all
}

func kindText(st *tracelayer.Step) string {
	if st == nil {
		return "no label"
	}
	text := st.Phase.String()
	if st.Requests > 0 {
		text += " of " + count(st.Requests, "request")
	}
	if st.GraphBS > 0 && st.GraphBS != st.Requests {
		text += fmt.Sprintf(" in a graph of %d", st.GraphBS)
	}
	return text
}

// listKinds is "decode of 32 requests (38 passes), decode of 8 requests (3 passes)".
func listKinds(kinds []stepKind) string {
	var items []string
	for i, k := range kinds {
		if i == maxSizes {
			items = append(items, fmt.Sprintf("%d other kinds", len(kinds)-i))
			break
		}
		items = append(items, fmt.Sprintf("%s (%s)", k.text, passes(k.passes)))
	}
	return strings.Join(items, ", ")
}

// passes is "1 pass", "2 passes".
func passes(n int) string {
	if n == 1 {
		return "1 pass"
	}
	return fmt.Sprintf("%d passes", n)
}
