package tracelayer

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"gonum.org/v1/gonum/stat"
)

// SummaryOptions says how layers are grouped. The zero value, and nil, make one
// group of all kept layers.
type SummaryOptions struct {
	// BySignature makes one group for each distinct sequence of kernel names.
	BySignature bool
}

// Summary is the statistics of a Segments. Times are microseconds.
type Summary struct {
	Segments *Segments
	Groups   []Group // most layers first, ties in order of appearance
}

// A Group is the statistics of layers that have the same number of kernels and,
// with BySignature, the same names.
type Group struct {
	Key       string // "all", or "sig1", "sig2", ... with BySignature
	Layers    int
	First     int        // ordinal of the first layer's anchor
	TotalUS   float64    // sum of the positions' means
	Positions []Position // in order
}

// A Position is the statistics of the kernels at one place of the layers.
type Position struct {
	Pos   int    // from 0, the anchor
	Name  string // the most frequent kernel name here, ties the first seen
	Class Class
	// Variants is the number of distinct names here. Above 1 the position is
	// mixed: its numbers average kernels of different names.
	Variants int
	Purity   float64 // share of the layers that have Name here, 0 to 1

	N      int // samples: kernels here with a usable duration; with 0 all numbers are 0
	AvgUS  float64
	StdUS  float64 // sample standard deviation (n-1); 0 for N < 2
	MinUS  float64
	P50US  float64 // percentiles interpolate linearly (Hyndman and Fan's type 7, as numpy does)
	P90US  float64
	P99US  float64
	MaxUS  float64
	Max    int     // index into Segments.Layers of the first layer that has the maximum; means nothing with N 0
	MaxP50 float64 // MaxUS / P50US; 0 when P50US is 0
	Pct    float64 // AvgUS as a percentage of the group's TotalUS; 0 when that is 0
}

// Mixed reports whether layers disagree on the kernel here.
func (p Position) Mixed() bool { return p.Variants > 1 }

// Summarize computes the statistics of each position of the kept layers. It
// fails only for Segments without a kept layer, which Segment never returns.
func Summarize(s *Segments, opts *SummaryOptions) (*Summary, error) {
	if len(s.Layers) == 0 {
		return nil, fmt.Errorf("summarize: %d anchors and no layer was kept", s.Anchors)
	}
	sum := &Summary{Segments: s}
	for _, layers := range s.grouped(opts != nil && opts.BySignature) {
		sum.Groups = append(sum.Groups, s.group(layers))
	}
	slices.SortStableFunc(sum.Groups, func(a, b Group) int { return cmp.Compare(b.Layers, a.Layers) })
	for i := range sum.Groups {
		sum.Groups[i].Key = "all"
		if opts != nil && opts.BySignature {
			sum.Groups[i].Key = fmt.Sprintf("sig%d", i+1)
		}
	}
	return sum, nil
}

// grouped splits the kept layers, as indices into Layers.
func (s *Segments) grouped(bySignature bool) [][]int32 {
	if !bySignature {
		all := make([]int32, len(s.Layers))
		for i := range all {
			all[i] = int32(i)
		}
		return [][]int32{all}
	}
	groups := make([][]int32, len(s.signs))
	for i, sign := range s.signatures {
		groups[sign] = append(groups[sign], int32(i))
	}
	return groups
}

// group summarises the given layers, which have the same number of kernels. The
// positions are independent of each other and are computed side by side.
func (s *Segments) group(layers []int32) Group {
	first := s.Layers[layers[0]]
	g := Group{Layers: len(layers), First: first.Ordinal, Positions: make([]Position, first.Len())}
	signs := s.signsOf(layers)
	var wg sync.WaitGroup
	for w := range min(runtime.GOMAXPROCS(0), len(g.Positions)) {
		wg.Go(func() {
			durs, where := make([]float64, 0, len(layers)), make([]int32, 0, len(layers))
			for pos := w; pos < len(g.Positions); pos += runtime.GOMAXPROCS(0) {
				g.Positions[pos].Pos = pos
				durs, where = s.durations(durs[:0], where[:0], layers, pos)
				g.Positions[pos].measure(durs, where)
			}
		})
	}
	wg.Wait()
	for i := range g.Positions {
		s.name(&g.Positions[i], signs, len(layers))
		g.TotalUS += g.Positions[i].AvgUS
	}
	for i := range g.Positions {
		if p := &g.Positions[i]; g.TotalUS > 0 {
			p.Pct = p.AvgUS / g.TotalUS * 100
		}
	}
	return g
}

// durations appends the usable durations of a position, in microseconds, and
// the layers that they are of.
func (s *Segments) durations(durs []float64, where, layers []int32, pos int) ([]float64, []int32) {
	for _, l := range layers {
		k := s.Trace.Kernels[s.Order[s.Layers[l].Start+int32(pos)]]
		if k.Dur >= 0 {
			durs = append(durs, float64(k.Dur)/1e3)
			where = append(where, l)
		}
	}
	return durs, where
}

// A signCount is how many layers have a sequence of names.
type signCount struct {
	sign  []NameID
	count int
}

// signsOf counts the sequences of names of the given layers, in order of appearance.
func (s *Segments) signsOf(layers []int32) []signCount {
	at := make([]int, len(s.signs))
	var all []signCount
	for _, l := range layers {
		sign := s.signatures[l]
		if at[sign] == 0 {
			all = append(all, signCount{sign: s.signs[sign]})
			at[sign] = len(all)
		}
		all[at[sign]-1].count++
	}
	return all
}

// name finds the most frequent name at p and how many of the layers have it.
func (s *Segments) name(p *Position, signs []signCount, layers int) {
	count := map[NameID]int{}
	var seen []NameID
	for _, sc := range signs {
		n := sc.sign[p.Pos]
		if count[n] == 0 {
			seen = append(seen, n)
		}
		count[n] += sc.count
	}
	top := slices.MaxFunc(seen, func(a, b NameID) int { return cmp.Compare(count[a], count[b]) })
	p.Name, p.Class = s.Trace.Names[top], Classify(s.Profile, s.Trace.Names[top])
	p.Variants, p.Purity = len(seen), float64(count[top])/float64(layers)
}

// measure fills in the numbers of p from its durations, in microseconds, and
// the layers that they are of. It sorts durs.
func (p *Position) measure(durs []float64, where []int32) {
	p.N = len(durs)
	if p.N == 0 {
		return
	}
	p.AvgUS = stat.Mean(durs, nil)
	if p.N > 1 {
		p.StdUS = stat.StdDev(durs, nil)
	}
	for i, d := range durs {
		if i == 0 || d > p.MaxUS {
			p.MaxUS, p.Max = d, int(where[i])
		}
	}
	slices.Sort(durs)
	p.MinUS = durs[0]
	p.P50US, p.P90US, p.P99US = quantile(durs, 0.50), quantile(durs, 0.90), quantile(durs, 0.99)
	if p.P50US > 0 {
		p.MaxP50 = p.MaxUS / p.P50US
	}
}

// quantile interpolates linearly between the two values around position
// (n-1)*q of sorted: type 7 of Hyndman and Fan (1996), which numpy and pandas
// use and gonum does not offer.
func quantile(sorted []float64, q float64) float64 {
	at := float64(len(sorted)-1) * q
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}
