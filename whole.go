package tracelayer

import (
	"fmt"
	"slices"
	"strings"
)

// A Pass is one forward pass: a step of the server, one graph launch, or what
// lies between two places where the sequence of layers breaks off. Its kernels
// are Order[Start:End]; those in front of its first layer are the prologue
// (embedding, metadata), those behind its last one the epilogue (final norm, LM
// head, sampling).
type Pass struct {
	Step       int32 // index into Attribution.Steps, or NoStep
	By         PassBy
	Start, End int32 // range of Segments.Order
	First, N   int   // Segments.Layers[First:First+N] are its layers
	Anchors    int   // more than N where a layer is not whole
	// Cut says at which end the pass lacks a layer: the recording cut it off, or
	// the layer there is like no other. It is empty for a whole pass.
	Cut string
	// Out says why the pass takes no part in the statistics. It is empty for a
	// kept pass.
	Out string

	run int32 // 0, or a number that it shares with the other runs of a model within its step
}

// PassBy is what tells where a pass begins and ends.
type PassBy uint8

// The ways, the best evidence first.
const (
	ByStep  PassBy = iota // all its kernels belong to one step
	ByGraph               // one graph launch, and what ran beside it
	ByGap                 // kernels that are in no layer, between layers
)

// String is "step label", "graph launch" or "kernels between layers".
func (b PassBy) String() string {
	return [...]string{"step label", "graph launch", "kernels between layers"}[b]
}

// Prologue is the pass's part of Order in front of its first layer.
func (s *Segments) Prologue(p Pass) []int32 {
	if p.N == 0 {
		return s.Order[p.Start:p.End]
	}
	return s.Order[p.Start:s.Layers[p.First].Start]
}

// Epilogue is the pass's part of Order behind its last layer.
func (s *Segments) Epilogue(p Pass) []int32 {
	if p.N == 0 {
		return nil
	}
	return s.Order[s.Layers[p.First+p.N-1].End:p.End]
}

// cutWhole cuts whole layers: passes first, then strays out, then each pass
// into prologue, layers and epilogue.
func (s *Segments) cutWhole(opts *SegmentOptions) error {
	s.Attribution, s.classes = Attribute(s.Trace), classes(s.Trace, s.Profile)
	c := &cutter{s: s, att: s.Attribution, names: make([]NameID, 0, len(s.Order)), numLayers: max(opts.NumLayers, 0)}
	c.findPasses()
	if err := c.dropStrays(); err != nil {
		return err
	}
	c.splitAtSamplers()
	if err := c.checkBatches(); err != nil {
		return err
	}
	if err := c.layers(); err != nil {
		return err
	}
	if err := s.filterPasses(opts.Passes); err != nil {
		return err
	}
	s.orderByLane()
	s.sign()
	of := make([]int32, s.Anchors)
	for i := range of {
		of[i] = NoStep
	}
	for _, l := range s.Layers {
		of[l.Ordinal] = s.Passes[l.Pass].Step
	}
	s.countPhases(s.Attribution.Steps, of)
	s.countLeftOut()
	return s.proveLayers(opts.NumLayers)
}

// countLeftOut counts the anchors that opened no kept layer.
func (s *Segments) countLeftOut() {
	out := func(n int, why string) {
		if n == 0 {
			return
		}
		i := slices.IndexFunc(s.LeftOut, func(l LeftOut) bool { return l.Why == why })
		if i < 0 {
			i = len(s.LeftOut)
			s.LeftOut = append(s.LeftOut, LeftOut{Why: why})
		}
		s.LeftOut[i].Layers += n
	}
	for _, p := range s.Passes {
		if p.Out != "" {
			out(p.Anchors, p.Out)
		} else {
			out(p.Anchors-p.N, "first or last layer of a pass, cut off or like no other")
		}
	}
	lengths := make([]int32, 0, len(s.Layers))
	for _, l := range s.Kept() {
		lengths = append(lengths, l.End-l.Start)
	}
	if len(lengths) > 0 {
		s.KernelsPerLayer = countGaps(lengths)[0].Kernels
	}
}

// proveLayers finds the number of layers that every whole kept pass has, and
// compares it with the one that the user knows.
func (s *Segments) proveLayers(given int) error {
	whole := slices.DeleteFunc(slices.Clone(s.Passes), func(p Pass) bool { return p.Out != "" || p.Cut != "" })
	sizes := countBy(whole, func(p Pass) string { return fmt.Sprint(p.N) })
	if given > 0 && (len(sizes) != 1 || whole[0].N != given) {
		return refuse(ErrRemainder, "%d anchors, %d layers a pass: %d passes and remainder %d; the passes found have %s layers. "+
			"Draft and target layers may share the anchor, or several anchors be in one layer",
			s.Anchors, given, s.Anchors/given, s.Anchors%given, sizesText(sizes))
	}
	drafting := slices.IndexFunc(whole, s.mayHoldDrafts)
	switch {
	case drafting >= 0 && given == 0:
		s.Evidence = fmt.Sprintf("layers per pass unknown: step %q drafts tokens, and layers of the draft model may be among these",
			s.Attribution.Steps[whole[drafting].Step].Name)
	case len(whole) == 0:
		s.Evidence = "layers per pass unknown: no pass is whole, and the kernels of the layers that they lack stand in prologue and epilogue"
	case len(sizes) > 1:
		s.Evidence = "layers per pass unknown: the passes have " + sizesText(sizes) + " layers, averaged together where their kernels are alike"
	case given == 0 && (slices.ContainsFunc(s.signs, repeats) || s.holdsAnother()):
		s.Evidence = "layers per pass unknown: between anchors a block of kernels repeats, as if several layers, or those of two micro-batches, lay there; give --num-layers"
	case whole[0].By == ByGap && given == 0 && len(whole) < 2:
		s.Evidence = "layers per pass unknown: neither labels nor graph launches tell where a pass begins, and only one is whole; give --num-layers"
	default:
		s.LayersPerPass, s.NumPasses, s.Alike = whole[0].N, len(whole), true
		by := countBy(whole, func(p Pass) string { return p.By.String() })
		s.Evidence = fmt.Sprintf("%d layers in each of %d passes, by %s", whole[0].N, len(whole), by[0].value)
		if len(whole) == 1 {
			s.Evidence = fmt.Sprintf("%d layers in one pass, by %s", whole[0].N, by[0].value)
		}
	}
	return nil
}

// mayHoldDrafts reports whether a pass's step drafts tokens, and neither a
// sampler between its layers nor labels of drafts show where the drafts are.
func (s *Segments) mayHoldDrafts(p Pass) bool {
	if p.Step < 0 || p.run > 0 {
		return false
	}
	st := s.Attribution.Steps[p.Step]
	return (st.Spec > 0 || st.Phase == PhaseDecode && st.Tokens > st.Requests) &&
		!slices.ContainsFunc(s.Attribution.Steps, func(o Step) bool { return o.Phase == PhaseDraft })
}

func sizesText(sizes []counted) string {
	if len(sizes) == 0 {
		return "no"
	}
	var texts []string
	for _, c := range sizes {
		texts = append(texts, fmt.Sprintf("%s (%d times)", c.value, c.n))
	}
	return strings.Join(texts, ", ")
}
