package tracelayer

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"gonum.org/v1/gonum/stat"
)

// SummaryOptions says how layers are grouped. The zero value, and nil, group
// layers that have the same number of kernels and nearly the same names.
type SummaryOptions struct {
	// BySignature makes one group for each distinct sequence of kernel names.
	BySignature bool
}

// Summary is the statistics of a Segments. Times are microseconds.
type Summary struct {
	Segments *Segments
	Groups   []Group // of the kept layers: most layers first, ties in order of appearance
	// Prologue and Epilogue are the statistics of what the kept passes run in
	// front of their first layer and behind their last one, nil where nothing is.
	Prologue, Epilogue *Part
	// Passes adds up where the time of the kept passes goes.
	Passes PassTimes
}

// A Part is the statistics of the prologues or epilogues that have the most
// frequent sequence of kernels.
type Part struct {
	Group      // its Layers are passes, and First and Position.Max indices into Segments.Passes
	Others int // kept passes whose part has other kernels, and is not in the numbers
}

// A Group is the statistics of layers that have the same number of kernels and,
// with BySignature, the same names.
type Group struct {
	Key       string // "all" where there is one group; else "kind1", "kind2", ..., or "sig1", ... with BySignature
	Layers    int
	First     int        // ordinal of the first layer's anchor
	TotalUS   float64    // sum of the positions' means
	Positions []Position // in order

	// Means over the layers of their Times, 0 with CutAnchors, where a layer is
	// no stretch of time that means anything: from first start to last end, while
	// a kernel runs, while a collective runs, and that with nothing beside it.
	WallUS, BusyUS, CommUS, ExposedCommUS float64
	// Streams are the lanes that the layers' kernels run in, in order of lane,
	// with the mean time in which one of them runs there; nil with CutAnchors.
	Streams []StreamMean
}

// A StreamMean is the mean busy time of one lane.
type StreamMean struct {
	Lane   LaneID
	BusyUS float64
}

// IdleUS is the mean time within a layer in which none of its kernels runs.
func (g Group) IdleUS() float64 { return g.WallUS - g.BusyUS }

// A Position is the statistics of the kernels at one place of the layers.
type Position struct {
	Pos   int    // from 0, the layer's first kernel; with CutAnchors that is the anchor
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
	sum := &Summary{Segments: s}
	bySignature := opts != nil && opts.BySignature
	var m *Meter
	if s.Cut == CutLayers {
		m = newMeter(s.Trace, s.classes)
	}
	for _, layers := range s.grouped(bySignature) {
		sum.Groups = append(sum.Groups, s.layerGroup(m, layers))
	}
	if len(sum.Groups) == 0 {
		return nil, fmt.Errorf("summarize: %d anchors and no layer was kept", s.Anchors)
	}
	slices.SortStableFunc(sum.Groups, func(a, b Group) int { return cmp.Compare(b.Layers, a.Layers) })
	for i := range sum.Groups {
		switch {
		case bySignature:
			sum.Groups[i].Key = fmt.Sprintf("sig%d", i+1)
		case len(sum.Groups) == 1:
			sum.Groups[i].Key = "all"
		default:
			sum.Groups[i].Key = fmt.Sprintf("kind%d", i+1)
		}
	}
	sum.Prologue = s.part(m, s.Prologue)
	sum.Epilogue = s.part(m, s.Epilogue)
	var buf []interval
	for _, p := range s.Passes {
		if p.Out == "" {
			var t PassTimes
			t, buf = m.passTimes(buf, s, p)
			sum.Passes = sum.Passes.Add(t)
		}
	}
	return sum, nil
}

// part summarises the prologues or the epilogues of the kept passes.
func (s *Segments) part(m *Meter, of func(Pass) []int32) *Part {
	var rows []row
	var signs []int32
	seen := map[string]int32{}
	var counts []int
	for i, p := range s.Passes {
		kernels := of(p)
		if p.Out != "" || len(kernels) == 0 {
			continue
		}
		key := s.nameKey(nil, kernels)
		sign, ok := seen[string(key)]
		if !ok {
			sign = int32(len(counts))
			seen[string(key)] = sign
			counts = append(counts, 0)
		}
		counts[sign]++
		rows = append(rows, row{kernels, int32(i)})
		signs = append(signs, sign)
	}
	if len(rows) == 0 {
		return nil
	}
	most := int32(slices.Index(counts, slices.Max(counts)))
	var chosen []row
	for i, r := range rows {
		if signs[i] == most {
			chosen = append(chosen, r)
		}
	}
	names := []signCount{{s.names(chosen[0].kernels), len(chosen)}}
	g := s.group(m, chosen, names)
	g.First = int(chosen[0].id)
	return &Part{Group: g, Others: len(rows) - len(chosen)}
}

// layerGroup summarises the given layers, which have the same number of kernels.
func (s *Segments) layerGroup(m *Meter, layers []int32) Group {
	rows := make([]row, len(layers))
	for i, l := range layers {
		rows[i] = row{s.Order[s.Layers[l].Start:s.Layers[l].End], l}
	}
	g := s.group(m, rows, s.signsOf(layers))
	g.First = s.Layers[layers[0]].Ordinal
	return g
}

// A row is a stretch of kernels that is one sample of each position, and its
// index where it comes from.
type row struct {
	kernels []int32
	id      int32
}

// grouped splits the kept layers, as indices into Layers, by signature or by
// kind: signatures of one length that differ at a quarter of the positions or
// less are one kind (a first norm without residual, an attention kernel for
// sliding windows). With CutAnchors all layers are one kind.
func (s *Segments) grouped(bySignature bool) [][]int32 {
	kind := make([]int, len(s.signs))
	first := make([]int, 0, len(s.signs)) // the signature that began each kind
	for i := range s.signs {
		kind[i] = slices.IndexFunc(first, func(j int) bool {
			return !bySignature && (s.Cut == CutAnchors || similar(s.signs[i], s.signs[j]))
		})
		if kind[i] < 0 {
			kind[i] = len(first)
			first = append(first, i)
		}
	}
	groups := make([][]int32, len(first))
	for i := range s.Kept() {
		k := kind[s.signatures[i]]
		groups[k] = append(groups[k], int32(i))
	}
	return slices.DeleteFunc(groups, func(g []int32) bool { return len(g) == 0 })
}

// similar reports whether two sequences of names are those of one kind of layer.
func similar(a, b []NameID) bool {
	if len(a) != len(b) {
		return false
	}
	differ := 0
	for i := range a {
		if a[i] != b[i] {
			differ++
		}
	}
	return differ <= len(a)/4
}

// group summarises rows of one length. The positions are independent of each
// other and are computed side by side.
func (s *Segments) group(m *Meter, rows []row, signs []signCount) Group {
	g := Group{Layers: len(rows), Positions: make([]Position, len(rows[0].kernels))}
	workers := runtime.GOMAXPROCS(0)
	var wg sync.WaitGroup
	for w := range min(workers, len(g.Positions)) {
		wg.Go(func() {
			durs, where := make([]float64, 0, len(rows)), make([]int32, 0, len(rows))
			for pos := w; pos < len(g.Positions); pos += workers {
				g.Positions[pos].Pos = pos
				durs, where = s.durations(durs[:0], where[:0], rows, pos)
				g.Positions[pos].measure(durs, where)
			}
		})
	}
	if m != nil {
		g.measureTimes(m, rows)
	}
	wg.Wait()
	for i := range g.Positions {
		s.name(&g.Positions[i], signs, len(rows))
		g.TotalUS += g.Positions[i].AvgUS
	}
	for i := range g.Positions {
		if p := &g.Positions[i]; g.TotalUS > 0 {
			p.Pct = p.AvgUS / g.TotalUS * 100
		}
	}
	return g
}

// measureTimes averages the rows' Times.
func (g *Group) measureTimes(m *Meter, rows []row) {
	var wall, busy, comm, exposed time.Duration
	var buf []interval
	lanes, streams := make([]cover, len(m.t.Lanes)), make([]Time, len(m.t.Lanes))
	ran := make([]bool, len(m.t.Lanes))
	for _, r := range rows {
		buf = m.intervals(buf[:0], r.kernels)
		for _, iv := range buf {
			lanes[iv.lane].add(iv)
		}
		for _, iv := range buf { // not over all lanes: there may be as many as kernels
			streams[iv.lane] += lanes[iv.lane].covered
			ran[iv.lane] = true
			lanes[iv.lane] = cover{}
		}
		t := measureTimes(buf)
		wall, busy, comm, exposed = wall+t.Span, busy+t.Busy, comm+t.Comm, exposed+t.ExposedComm()
	}
	mean := func(d time.Duration) float64 { return float64(d) / float64(len(rows)) / 1e3 }
	g.WallUS, g.BusyUS, g.CommUS, g.ExposedCommUS = mean(wall), mean(busy), mean(comm), mean(exposed)
	for lane := range lanes {
		if ran[lane] {
			g.Streams = append(g.Streams, StreamMean{LaneID(lane), mean(time.Duration(streams[lane]))})
		}
	}
}

// durations appends the usable durations of a position, in microseconds, and
// the rows that they are of.
func (s *Segments) durations(durs []float64, where []int32, rows []row, pos int) ([]float64, []int32) {
	for _, r := range rows {
		if k := s.Trace.Kernels[r.kernels[pos]]; k.Dur >= 0 {
			durs = append(durs, float64(k.Dur)/1e3)
			where = append(where, r.id)
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
	p.Name = s.Trace.Names[top]
	if s.classes != nil {
		p.Class = s.classes[top]
	} else {
		p.Class = Classify(s.Profile, p.Name)
	}
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
