package report

import (
	"time"

	"github.com/tracelayer/tracelayer"
)

const us = int64(time.Microsecond)

// small is four layers of three kernels with hand-made statistics: a pure
// position, one where layers disagree, and one without a usable duration. The
// trace's zero is at 1 ms and layer i starts at (2 + i) ms.
func small() *Layers {
	t := &tracelayer.Trace{
		Name:     "small.json",
		Metadata: tracelayer.Metadata{Rank: -1},
		Origin:   tracelayer.Time(1000 * us),
		Names:    []string{"void pa_bf16_demo<64>(int)", "gemm_a", "gemm_b", "flag"},
	}
	s := &tracelayer.Segments{
		Trace: t, Cut: tracelayer.CutAnchors, Anchor: "pa_bf16", Anchors: 7, KernelsPerLayer: 3,
		Gaps:     []tracelayer.Gap{{Kernels: 3, Count: 4}, {Kernels: 5, Count: 2}},
		LeftOut:  []tracelayer.LeftOut{{Layers: 1, Why: "last anchor: no next one"}, {Layers: 2, Why: "5 kernels instead of 3"}},
		Evidence: "no launch or step label tells passes apart",
	}
	for i := range 4 {
		start := tracelayer.Time((2000 + 1000*int64(i)) * us)
		s.Layers = append(s.Layers, tracelayer.Layer{Ordinal: i + 1, Start: int32(3 * i), End: int32(3*i + 3)})
		for j := range 3 {
			s.Order = append(s.Order, int32(len(t.Kernels)))
			t.Kernels = append(t.Kernels, tracelayer.Kernel{Start: start + tracelayer.Time(20*us*int64(j)), Name: tracelayer.NameID(j)})
		}
	}
	group := tracelayer.Group{Key: "all", Layers: 4, First: 1, TotalUS: 40.5, Positions: []tracelayer.Position{
		{Pos: 0, Name: t.Names[0], Class: tracelayer.Class{Key: "pa", Label: "PA (paged_attn)", Group: "attention"}, Variants: 1, Purity: 1,
			N: 4, AvgUS: 10.25, StdUS: 0.5, MinUS: 9.5, P50US: 10, P90US: 11.0004, P99US: 11.4, MaxUS: 11.5, Max: 2, MaxP50: 1.15, Pct: 25.3086},
		{Pos: 1, Name: t.Names[1], Class: tracelayer.Class{Key: "gemm", Label: "GEMM größer", Group: "gemm_bf16"}, Variants: 2, Purity: 0.75,
			N: 3, AvgUS: 30.25, StdUS: 16.3, MinUS: 20, P50US: 25, P90US: 42, P99US: 49, MaxUS: 50, Max: 3, MaxP50: 2, Pct: 74.6914},
		{Pos: 2, Name: t.Names[3], Class: tracelayer.Class{Key: "other", Label: "flag", Group: "other"}, Variants: 1, Purity: 1},
	}}
	return &Layers{
		Summary: &tracelayer.Summary{Segments: s, Groups: []tracelayer.Group{group}},
		Decode:  &tracelayer.DecodeBS{Dominant: 32, Counts: []tracelayer.BSCount{{BS: 8, Steps: 3}, {BS: 32, Steps: 41}}, Steps: 44},
		Streams: "merged",
	}
}

// spec is the example of spec 000: the rows that it prints, and its closing lines.
func spec() *Layers {
	l := small()
	s := l.segments()
	s.LayersPerPass, s.NumPasses, s.Alike, s.Evidence = 62, 41, true, "62 anchors in each of 41 graph launches"
	g := &l.Summary.Groups[0]
	g.Layers, g.TotalUS = 2501, 411.0
	row := func(pos int, label string, avg, std, lo, hi, pct float64) tracelayer.Position {
		return tracelayer.Position{Pos: pos, Name: label, Class: tracelayer.Class{Label: label}, Variants: 1, Purity: 1,
			N: 2501, AvgUS: avg, StdUS: std, MinUS: lo, P50US: avg, MaxUS: hi, MaxP50: hi / avg, Pct: pct}
	}
	g.Positions = []tracelayer.Position{
		row(0, "PA (paged_attn)", 14.6, 0.8, 10.9, 18.2, 3.5),
		row(1, "FP8_quant", 5.5, 0.5, 4.4, 7.8, 1.3),
		row(2, "GEMM_FP8 (CK dense)", 16.1, 0.5, 14.9, 18.8, 3.9),
		row(10, "MoE_GEMM (CK)", 180.4, 16.3, 117.8, 231.2, 43.9),
		row(12, "MoE_GEMM (CK)", 88.5, 8.4, 5.3, 112.8, 21.5),
	}
	return l
}

// grouped is small by signature: two kinds of layers.
func grouped() *Layers {
	l := small()
	l.BySignature = true
	one := l.Summary.Groups[0]
	two := one
	one.Key, one.Layers, one.Positions = "sig1", 3, one.Positions[:2]
	two.Key, two.Layers, two.First, two.Positions = "sig2", 1, 4, two.Positions[1:2]
	l.Summary.Groups = []tracelayer.Group{one, two}
	return l
}
