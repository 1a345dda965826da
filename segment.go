package tracelayer

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
)

// SegmentOptions says which kernels are cut and how. The zero value, and nil,
// cut whole layers of the decode steps, of all streams that take part in them.
type SegmentOptions struct {
	// PID, Device and Stream keep the kernels of one process, device or stream,
	// compared as text. Empty keeps all.
	PID, Device, Stream string
	// Cut is what a layer is; the zero value is CutLayers.
	Cut Cut
	// NumLayers is the number of layers of a pass, 0 or less when not known.
	// Anchors that do not divide by it are ErrRemainder.
	NumLayers int
	// Passes says which passes are kept. With CutAnchors there are none to choose.
	Passes PassFilter
}

// A Cut is a way to cut kernels into layers.
type Cut int

const (
	// CutLayers cuts passes into prologue, whole layers and epilogue. A layer
	// begins where its first kernel does, mostly a norm, and the last layer of
	// a pass is closed by the pass's end. Kernels of side streams that do not
	// recur in the layers are strays.
	CutLayers Cut = iota
	// CutAnchors cuts from each anchor to the next over all selected kernels,
	// and keeps the intervals of the most frequent length. The last layer of a
	// pass is never one of them. This is what the script did.
	CutAnchors
)

// Segments is a trace cut into layers. It shares memory with the trace and is
// never changed after Segment returned it.
type Segments struct {
	Trace   *Trace
	Profile *Profile
	Cut     Cut
	// Order lists the selected kernels in the order in which they were cut, as
	// indices into Trace.Kernels: pass after pass, by start within each, but see
	// Reordered. A layer is a range of it. With CutLayers strays are not in it.
	Order []int32
	// Layers are the layers found, in order of Order. Those of passes that are
	// Out are among them; Kept leaves them out.
	Layers []Layer
	// LeftOut counts the anchors that opened no kept layer, by reason, in order
	// of first appearance. With the kept layers they add up to Anchors.
	LeftOut []LeftOut

	Anchor  string // the anchor pattern
	Anchors int    // selected kernels that match it, strays aside

	// Passes are the passes that have an anchor, in order of time; nil with CutAnchors.
	Passes []Pass
	// Attribution is of all kernels of the trace; nil with CutAnchors.
	Attribution *Attribution
	// Strays are the selected kernels of streams that are in no layer, as
	// indices into Trace.Kernels, by start; nil with CutAnchors.
	Strays []int32
	// Reordered is the number of layers whose kernels do not stand by start in
	// Order: their streams ran the same kernels as those of other layers, but
	// not in step with each other, and they follow the most frequent order of
	// such layers. Each stream's own kernels stay in order of start.
	Reordered int
	// NoAnchor is the number of selected kernels in passes without an anchor.
	NoAnchor int
	// Filter is the choice of passes that was made, defaults filled in.
	Filter PassFilter

	// KernelsPerLayer is the most frequent number of kernels of a kept layer. With CutAnchors it is the dominant gap.
	KernelsPerLayer int
	// Gaps says how often each number of kernels from anchor to anchor occurs,
	// most frequent first, ties in order of appearance; nil with CutLayers.
	Gaps []Gap
	Tie  bool // another gap is as frequent as the dominant one, which was seen first

	// Phases counts the kept layers by the phase of the step they begin in, in
	// the order of the constants; PhaseUnknown is for those without a step.
	Phases []PhaseLayers
	// Sizes counts the kept layers of decode steps by the steps' number of
	// requests, most layers first, ties in order of appearance.
	Sizes []SizeLayers

	// LayersPerPass is the number of layers of a pass, and NumPasses the number
	// of whole kept passes; both are 0 when nothing proves them.
	LayersPerPass, NumPasses int
	// Alike: the mean layers add up to a pass's time in layers. With CutLayers
	// all layers of the whole passes are kept. With CutAnchors the kept layers
	// have one sequence of kernels, and every interval of the passes but the
	// trace's last holds it in order, whatever stands between: strays, or the end
	// of a pass and the beginning of the next.
	Alike bool
	// Evidence says in words what LayersPerPass rests on, or why it is 0.
	Evidence string

	gaps       []int32    // from anchor i to anchor i+1
	anchors    []int32    // indices into Order
	signatures []int32    // of each layer: an index into signs
	signs      [][]NameID // the distinct sequences of names, in order of appearance
	classes    []Class    // of all names; nil with CutAnchors, which needs few of them
}

// A Layer is the kernels Order[Start:End]. With CutAnchors it begins with its anchor.
type Layer struct {
	Ordinal    int   // which of the Segments.Anchors it holds, from 0
	Pass       int   // index into Segments.Passes; -1 with CutAnchors
	Index      int   // place among the layers of its pass, from 0
	Start, End int32 // range of Segments.Order
}

// Len is the number of kernels of the layer.
func (l Layer) Len() int { return int(l.End - l.Start) }

// LeftOut is a number of anchors whose interval is not a kept layer.
type LeftOut struct {
	Layers int
	Why    string
}

// PhaseLayers is a number of layers of one phase.
type PhaseLayers struct {
	Phase  Phase
	Layers int
}

// SizeLayers is a number of layers of decode steps of BS requests.
type SizeLayers struct {
	BS     int
	Layers int
}

// A Gap is a number of kernels from one anchor to the next, and how often it occurs.
type Gap struct{ Kernels, Count int }

// Kernels yields the kernels of a layer in the order in which they were cut.
func (s *Segments) Kernels(l Layer) iter.Seq[Kernel] {
	return func(yield func(Kernel) bool) {
		for _, i := range s.Order[l.Start:l.End] {
			if !yield(s.Trace.Kernels[i]) {
				return
			}
		}
	}
}

// Kept yields the layers that take part in the statistics, with their indices
// in Layers: all but those of passes that are Out.
func (s *Segments) Kept() iter.Seq2[int, Layer] {
	return func(yield func(int, Layer) bool) {
		for i, l := range s.Layers {
			if l.Pass >= 0 && s.Passes[l.Pass].Out != "" {
				continue
			}
			if !yield(i, l) {
				return
			}
		}
	}
}

// All yields every kernel of every kept layer with its layer, in the order of
// Layers and of Kernels.
func (s *Segments) All() iter.Seq2[Layer, Kernel] {
	return func(yield func(Layer, Kernel) bool) {
		for _, l := range s.Kept() {
			for k := range s.Kernels(l) {
				if !yield(l, k) {
					return
				}
			}
		}
	}
}

// Segment cuts a trace into layers, each of which holds one anchor.
//
// With CutLayers the kernels are first put into passes: by the step they belong
// to (see [Attribute]), else by graph launch, else at places where kernels stand
// between two layers that occur in no layer. Strays go out, and each pass is
// cut where the kernels in front of its anchors begin to be alike. Passes that
// the filter does not choose, or that the recording cut off, are Out.
//
// With CutAnchors each interval from one anchor to the next is a layer if it
// has the most frequent number of kernels. Intervals of another length are left
// out and counted (they are other phases, other kinds of layers, or the step
// from one pass to the next), and so is the last anchor, since no next one
// closes its interval.
//
// The kernels must be of one process and one device (ErrMixed) and at least
// two of them must match the anchor (ErrNoAnchor). Without any kernel the error
// is ErrNoKernels, without a layer ErrNoLayers, ErrRemainder if the anchors do
// not divide by opts.NumLayers, and ErrInterleaved for two micro-batches. All
// come as a *SegmentError with the numbers. A profile without an anchor is an
// error of no type; those of the families have theirs to read, and get one to cut
// by from Profile.WithAnchor.
func Segment(t *Trace, p *Profile, opts *SegmentOptions) (*Segments, error) {
	if p == nil || p.anchor == "" {
		return nil, errors.New("segment: the profile has no anchor to cut by: use AnchorProfile, or Profile.WithAnchor for a family's rules")
	}
	if opts == nil {
		opts = &SegmentOptions{}
	}
	s := &Segments{Trace: t, Profile: p, Cut: opts.Cut, Anchor: p.anchor}
	var err error
	if s.Order, err = selectKernels(t, opts); err == nil {
		err = s.findAnchors(p)
	}
	switch {
	case err != nil:
	case opts.Cut == CutAnchors:
		s.measureGaps()
		s.keepLayers()
		err = s.countPasses(opts.NumLayers)
	default:
		err = s.cutWhole(opts)
	}
	if err != nil {
		return nil, s.refuse(err, opts)
	}
	return s, nil
}

// A refusal is a sentinel with its numbers, on the way to a SegmentError.
type refusal struct {
	err    error
	detail string
}

func (r *refusal) Error() string { return r.detail }

func refuse(err error, format string, args ...any) error {
	return &refusal{err, fmt.Sprintf(format, args...)}
}

// refuse makes a SegmentError of a refusal.
func (s *Segments) refuse(err error, opts *SegmentOptions) error {
	r, ok := errors.AsType[*refusal](err)
	if !ok {
		return err
	}
	e := &SegmentError{
		Trace: s.Trace.Name, Profile: s.Profile.Name, Anchor: s.Anchor, Anchors: s.Anchors,
		Layers: opts.NumLayers, Detail: r.detail, Err: r.err,
	}
	if r.err == ErrNoAnchor {
		e.Candidates = candidates(s)
	}
	if captureOnly(s.Trace) {
		e.Detail += "; the only steps in the labels are graphs being captured: this is a capture trace, and nothing of the model ran in it"
	}
	return e
}

// captureOnly reports whether the labels show graphs being captured and no step
// that ran.
func captureOnly(t *Trace) bool {
	steps := Steps(t)
	return len(steps) > 0 && !slices.ContainsFunc(steps, func(s Step) bool { return s.Phase != PhaseCapture })
}

// selectKernels lists the kernels that the options select, and refuses a mixture.
func selectKernels(t *Trace, opts *SegmentOptions) ([]int32, error) {
	take := make([]bool, len(t.Lanes))
	for i, l := range t.Lanes {
		take[i] = (opts.PID == "" || opts.PID == l.PID) &&
			(opts.Device == "" || opts.Device == l.Device) &&
			(opts.Stream == "" || opts.Stream == l.Stream)
	}
	perLane := make([]int, len(t.Lanes))
	n := 0
	for _, k := range t.Kernels {
		perLane[k.Lane]++
		if take[k.Lane] {
			n++
		}
	}
	if n == 0 {
		return nil, noKernels(t, opts, perLane)
	}
	if err := checkMixed(t, take, perLane); err != nil {
		return nil, err
	}
	order := make([]int32, 0, n)
	for i, k := range t.Kernels {
		if take[k.Lane] {
			order = append(order, int32(i))
		}
	}
	return order, nil
}

// noKernels says what a trace holds instead of kernels to cut.
func noKernels(t *Trace, opts *SegmentOptions, perLane []int) error {
	c := t.Counts
	switch {
	case len(t.Kernels) > 0:
		return refuse(ErrNoKernels, "none of the %d GPU kernel events has pid %q, device %q, stream %q (empty: any); there are %s",
			len(t.Kernels), opts.PID, opts.Device, opts.Stream, listLanes(t, perLane))
	case c.Unplaced > 0:
		return refuse(ErrNoKernels, "%d GPU kernel events, none with a usable time", c.Kernels)
	case c.Launches > 0:
		return refuse(ErrNoKernels, "0 GPU kernel events among %d events, though %d launch calls were recorded: "+
			"the profiler was still in its warm-up or lost its records; start later or run longer", c.Events, c.Launches)
	}
	return refuse(ErrNoKernels, "%d events read, no event with a kernel category (0 GPU kernel events, 0 launch calls)", c.Events)
}

// listLanes names the lanes that hold kernels, with their numbers.
func listLanes(t *Trace, perLane []int) string {
	var parts []string
	for i, l := range t.Lanes {
		if perLane[i] > 0 {
			parts = append(parts, fmt.Sprintf("%s (%d kernels)", l, perLane[i]))
		}
	}
	return strings.Join(parts, "; ")
}

// checkMixed refuses kernels of several processes or devices: their streams
// interleave in time and no interval between anchors would be a layer.
func checkMixed(t *Trace, take []bool, perLane []int) error {
	type gpu struct{ pid, device string }
	count := map[gpu]int{}
	var all []gpu
	pids, devices := map[string]bool{}, map[string]bool{}
	for i, l := range t.Lanes {
		if !take[i] || perLane[i] == 0 {
			continue
		}
		g := gpu{l.PID, l.Device}
		if count[g] == 0 {
			all = append(all, g)
		}
		count[g] += perLane[i]
		pids[g.pid], devices[g.device] = true, true
	}
	if len(all) < 2 {
		return nil
	}
	var parts []string
	for _, g := range all {
		parts = append(parts, fmt.Sprintf("pid %q device %s (%d kernels)", g.pid, g.device, count[g]))
	}
	var flags []string
	if len(pids) > 1 {
		flags = append(flags, "--pid")
	}
	if len(devices) > 1 {
		flags = append(flags, "--device")
	}
	return refuse(ErrMixed, "%s; choose one with %s", strings.Join(parts, ", "), strings.Join(flags, " or "))
}

// findAnchors marks the anchors. Names are matched once each, not per kernel.
func (s *Segments) findAnchors(p *Profile) error {
	t := s.Trace
	is := make([]bool, len(t.Names))
	for i, name := range t.Names {
		is[i] = p.isAnchor(name)
	}
	for _, k := range s.Order {
		if is[t.Kernels[k].Name] {
			s.Anchors++
		}
	}
	s.anchors = make([]int32, 0, s.Anchors)
	for i, k := range s.Order {
		if is[t.Kernels[k].Name] {
			s.anchors = append(s.anchors, int32(i))
		}
	}
	if s.Anchors < 2 {
		return refuse(ErrNoAnchor, "%d of %d kernels match %q: found %d, need at least 2", s.Anchors, len(s.Order), s.Anchor, s.Anchors)
	}
	return nil
}

// measureGaps counts the gaps and picks the dominant one.
func (s *Segments) measureGaps() {
	s.gaps = make([]int32, len(s.anchors)-1)
	for i := range s.gaps {
		s.gaps[i] = s.anchors[i+1] - s.anchors[i]
	}
	s.Gaps = countGaps(s.gaps)
	s.KernelsPerLayer = s.Gaps[0].Kernels
	s.Tie = len(s.Gaps) > 1 && s.Gaps[1].Count == s.Gaps[0].Count
}

// countGaps counts equal gaps, most frequent first, ties in order of appearance.
func countGaps(gaps []int32) []Gap {
	index := map[int32]int{}
	var all []Gap
	for _, g := range gaps {
		i, ok := index[g]
		if !ok {
			i = len(all)
			index[g] = i
			all = append(all, Gap{Kernels: int(g)})
		}
		all[i].Count++
	}
	slices.SortStableFunc(all, func(a, b Gap) int { return cmp.Compare(b.Count, a.Count) })
	return all
}

// keepLayers keeps the intervals of dominant length and counts the others.
func (s *Segments) keepLayers() {
	s.Layers = make([]Layer, 0, s.Gaps[0].Count)
	reasons := map[int32]int{} // index into LeftOut by gap
	for i, g := range s.gaps {
		if int(g) == s.KernelsPerLayer {
			s.Layers = append(s.Layers, Layer{Ordinal: i, Pass: -1, Index: i, Start: s.anchors[i], End: s.anchors[i+1]})
			continue
		}
		at, ok := reasons[g]
		if !ok {
			at = len(s.LeftOut)
			reasons[g] = at
			s.LeftOut = append(s.LeftOut, LeftOut{Why: fmt.Sprintf("%d kernels instead of %d", g, s.KernelsPerLayer)})
		}
		s.LeftOut[at].Layers++
	}
	s.LeftOut = append(s.LeftOut, LeftOut{1, "last anchor: no next one closes it"})
	s.sign()
}

// sign finds the distinct sequences of names among the layers.
func (s *Segments) sign() {
	seen := map[string]int32{}
	s.signatures = make([]int32, len(s.Layers))
	var key []byte
	for i, l := range s.Layers {
		kernels := s.Order[l.Start:l.End]
		key = s.nameKey(key[:0], kernels)
		id, ok := seen[string(key)]
		if !ok {
			id = int32(len(s.signs))
			seen[string(key)] = id
			s.signs = append(s.signs, s.names(kernels))
		}
		s.signatures[i] = id
	}
}

// nameKey appends the names of some kernels to dst, as bytes to look up.
func (s *Segments) nameKey(dst []byte, kernels []int32) []byte {
	for _, k := range kernels {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(s.Trace.Kernels[k].Name))
	}
	return dst
}

// names are the names of some kernels.
func (s *Segments) names(kernels []int32) []NameID {
	names := make([]NameID, len(kernels))
	for i, k := range kernels {
		names[i] = s.Trace.Kernels[k].Name
	}
	return names
}
