package tracelayer

import (
	"slices"
	"strings"
)

// A cutter holds what is needed while cutting.
type cutter struct {
	s       *Segments
	att     *Attribution
	passes  []Pass
	names   []NameID // of s.Order
	anchors []int32  // indices into s.Order

	isNorm, isAnchor, isEmbedding, isEdge []bool // by name; an edge is an embedding or a sampler

	numLayers int  // 0 when not given
	bare      bool // neither labels nor launches lead to any pass
}

// findPasses orders the selected kernels by pass.
func (c *cutter) findPasses() {
	c.mark()
	pass := c.attributed()
	c.dropPieces(pass)
	if !slices.ContainsFunc(pass, func(p int32) bool { return p >= 0 }) {
		c.bare = true
		c.passes = []Pass{{Step: NoStep, By: ByGap}}
		clear(pass)
	}
	c.fillGaps(pass)
	c.order(pass)
}

// attributed makes a pass of each step and of each graph launch without one, and
// returns the pass of each kernel, -1 where it has neither.
func (c *cutter) attributed() []int32 {
	t, s := c.s.Trace, c.s
	graphs := map[int64]int{} // launches by correlation id; an id of several says nothing
	for _, l := range t.Launches {
		if l.Graph && l.Correlation > 0 {
			graphs[l.Correlation]++
		}
	}
	index := map[passUnit]int32{}
	pass := make([]int32, len(s.Order))
	last, lastPass := passUnit{NoStep, 0}, int32(-1) // of the kernel before, mostly this one's too
	for i, k := range s.Order {
		u := passUnit{c.att.Step[k], 0}
		if id := t.Correlations[k]; u.step < 0 && graphs[id] == 1 {
			u.graph = id
		}
		if u != last {
			last = u
			lastPass = -1
			if u.step >= 0 || u.graph > 0 {
				lastPass = c.passOf(index, u)
			}
		}
		pass[i] = lastPass
	}
	return pass
}

// dropPieces takes kernels out of the passes of graph launches if those hold
// pieces of a pass: no launch holds two anchors, or none more than two, and the
// kernels that a pass begins or ends with run in fewer than half as many places.
// Where there are labelled passes too, what is outside of them stays apart.
func (c *cutter) dropPieces(pass []int32) {
	if slices.ContainsFunc(c.passes, func(p Pass) bool { return p.Step >= 0 }) {
		return
	}
	anchors := make([]int, len(c.passes))
	for _, a := range c.anchors {
		if p := pass[a]; p >= 0 {
			anchors[p]++
		}
	}
	launches, most := 0, 0
	for _, n := range anchors {
		most = max(most, n)
		if n > 0 {
			launches++
		}
	}
	edges, ends := make([]int, len(c.isEdge)), 0
	for _, n := range c.names {
		if c.isEdge[n] {
			edges[n]++
			ends = max(ends, edges[n])
		}
	}
	if most > 2 || most == 2 && (ends == 0 || launches <= 2*ends) {
		return
	}
	for i := range pass {
		pass[i] = -1
	}
}

// passOf is the pass of a unit of kernels, a new one when it is first met.
func (c *cutter) passOf(index map[passUnit]int32, u passUnit) int32 {
	n, ok := index[u]
	if !ok {
		n = int32(len(c.passes))
		index[u] = n
		by := ByStep
		if u.step < 0 {
			by = ByGraph
		}
		c.passes = append(c.passes, Pass{Step: u.step, By: by})
	}
	return n
}

// A passUnit is a step, or a graph launch by its correlation id.
type passUnit struct {
	step  int32
	graph int64
}

// fillGaps gives kernels of no pass to one beside them: within a pass to that,
// at the ends of the trace to the nearest, and between two passes to the side
// of the longest idle time on which they stand. If anchors are among them they
// are a pass of their own, that of a step whose label or launch was not recorded.
func (c *cutter) fillGaps(pass []int32) {
	for i := 0; i < len(pass); {
		if pass[i] >= 0 {
			i++
			continue
		}
		j := i
		for j < len(pass) && pass[j] < 0 {
			j++
		}
		before, after := int32(-1), int32(-1)
		if i > 0 {
			before = pass[i-1]
		}
		if j < len(pass) {
			after = pass[j]
		}
		c.fillGap(pass, i, j, before, after)
		i = j
	}
}

// fillGap fills pass[i:j], which stands between two passes, -1 for the end of the trace.
func (c *cutter) fillGap(pass []int32, i, j int, before, after int32) {
	split := j // the kernels from here on go with the pass behind them
	switch {
	case before != after && slices.ContainsFunc(c.names[i:j], func(n NameID) bool { return c.isAnchor[n] }):
		before = int32(len(c.passes))
		c.passes = append(c.passes, Pass{Step: NoStep, By: ByGap})
	case before < 0:
		split = i
	case after >= 0 && before != after:
		split = int(c.longestIdle(int32(i), int32(j)+1))
	}
	for n := i; n < j; n++ {
		pass[n] = before
		if n >= split {
			pass[n] = after
		}
	}
}

// order sorts s.Order by pass, in order of the passes' first kernels, keeping
// time order within each, and finds the passes' ranges.
func (c *cutter) order(pass []int32) {
	number := make([]int32, len(c.passes)) // of each pass, plus 1
	var sorted []Pass
	for i, p := range pass {
		if number[p] == 0 {
			sorted = append(sorted, c.passes[p])
			number[p] = int32(len(sorted))
		}
		pass[i] = number[p] - 1
	}
	c.passes = sorted
	old := c.s.Order
	if !slices.IsSorted(pass) {
		old = slices.Clone(old) // the passes interleave
	}
	size := make([]int32, len(c.passes)+1)
	for _, p := range pass {
		size[p+1]++
	}
	for p := range c.passes {
		size[p+1] += size[p]
		c.passes[p].Start, c.passes[p].End = size[p], size[p+1]
	}
	next := slices.Clone(size)
	for i, p := range pass {
		c.s.Order[next[p]] = old[i]
		next[p]++
	}
}

// sideShare is the share of a pass's layers in which a side stream must have
// the same number of kernels for them to belong to the layers. In real traces
// it is 0.93 and more for streams of collectives (dense layers have none) and
// at most 0.28 for strays.
const sideShare = 0.5

// dropStrays takes the kernels of streams that do not recur in the layers out
// of Order. The stream with most anchors always stays; another one with layers
// of its own is no stray but a second model or micro-batch.
func (c *cutter) dropStrays() error {
	c.mark()
	t, s := c.s.Trace, c.s
	stays := make([]bool, len(t.Lanes))
	stays[c.mainLane()] = true
	perLane := make([]map[int]int, len(t.Lanes)) // how many intervals have how many kernels of the lane
	intervals := 0
	count := make([]int, len(t.Lanes))
	var touched []LaneID // a trace may have as many lanes as kernels
	for _, iv := range c.intervals() {
		intervals++
		for _, k := range s.Order[iv[0]:iv[1]] {
			lane := t.Kernels[k].Lane
			if count[lane] == 0 {
				touched = append(touched, lane)
			}
			count[lane]++
		}
		for _, lane := range touched {
			if perLane[lane] == nil {
				perLane[lane] = map[int]int{}
			}
			perLane[lane][count[lane]]++
			count[lane] = 0
		}
		touched = touched[:0]
	}
	for lane, counts := range perLane {
		for _, n := range counts {
			stays[lane] = stays[lane] || float64(n) >= sideShare*float64(intervals)
		}
	}
	if err := c.checkLanes(stays); err != nil {
		return err
	}
	c.keepLanes(stays)
	c.mark()
	return nil
}

// checkLanes refuses passes in which a stream that would be dropped has two
// anchors or more.
func (c *cutter) checkLanes(stays []bool) error {
	t, s := c.s.Trace, c.s
	count := make([]int, len(t.Lanes))
	for i, p := range c.passes {
		clear(count)
		anchors := c.anchorsOf(p)
		for _, a := range anchors {
			count[t.Kernels[s.Order[a]].Lane]++
		}
		for lane, n := range count {
			if n >= 2 && !stays[lane] {
				return refuse(ErrInterleaved, "stream %s has %d of the %d anchors of pass %d, and layers of its own: two micro-batches or models "+
					"may run side by side; choose a stream with --streams", t.Lanes[lane].Stream, n, len(anchors), i)
			}
		}
	}
	return nil
}

// splitAtSamplers splits passes in which a sampler runs between two anchors, in
// an interval longer than most: there one model has ended and another begins, a
// draft behind its target or a second step under one label. A sampler that runs
// in half of the intervals or more is a part of the layers.
func (c *cutter) splitAtSamplers() {
	if c.bare {
		return // done where the end of a pass is looked for
	}
	all := c.intervals()
	lengths := make([]int32, len(all))
	in := make([]int, len(c.isEdge)) // how many intervals have a name
	for i, iv := range all {
		lengths[i] = iv[1] - iv[0]
		for _, n := range c.samplersIn(iv) {
			in[n]++
		}
	}
	if !slices.ContainsFunc(in, func(n int) bool { return n > 0 }) {
		return
	}
	usual := int32(countGaps(lengths)[0].Kernels)
	ends := func(iv [2]int32) bool {
		return iv[1]-iv[0] > usual && slices.ContainsFunc(c.samplersIn(iv), func(n NameID) bool { return 2*in[n] < len(all) })
	}
	var passes []Pass
	runs := int32(0)
	for _, p := range c.passes {
		a := c.anchorsOf(p)
		rest := p
		for i := 1; i < len(a); i++ {
			if iv := [2]int32{a[i-1], a[i]}; ends(iv) {
				if rest.run == 0 {
					runs++
					rest.run = runs
				}
				part := rest
				part.End = c.edgeIn(iv[0]+1, iv[1])
				passes = append(passes, part)
				rest.Start = part.End
			}
		}
		passes = append(passes, rest)
	}
	c.passes = passes
}

// samplersIn are the distinct names of samplers in a range of Order.
func (c *cutter) samplersIn(iv [2]int32) []NameID {
	var all []NameID
	for _, n := range c.names[iv[0]:iv[1]] {
		if c.isEdge[n] && !c.isEmbedding[n] && !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	return all
}

// keepLanes leaves only the kernels of some lanes in Order; the others are Strays.
func (c *cutter) keepLanes(stays []bool) {
	t, s := c.s.Trace, c.s
	kept := s.Order[:0]
	for i := range c.passes {
		p := &c.passes[i]
		start := int32(len(kept))
		for _, k := range s.Order[p.Start:p.End] {
			if stays[t.Kernels[k].Lane] {
				kept = append(kept, k)
			} else {
				s.Strays = append(s.Strays, k)
			}
		}
		p.Start, p.End = start, int32(len(kept))
	}
	s.Order = kept
	slices.Sort(s.Strays)
}

// mainLane is the lane with most anchors, of equal ones the first.
func (c *cutter) mainLane() LaneID {
	t := c.s.Trace
	count := make([]int, len(t.Lanes))
	for _, a := range c.anchors {
		count[t.Kernels[c.s.Order[a]].Lane]++
	}
	main := 0
	for lane, n := range count {
		if n > count[main] {
			main = lane
		}
	}
	return LaneID(main)
}

// mark finds the names and anchors of Order again.
func (c *cutter) mark() {
	t, s := c.s.Trace, c.s
	if c.isNorm == nil {
		n := len(t.Names)
		c.isNorm, c.isAnchor, c.isEmbedding, c.isEdge = make([]bool, n), make([]bool, n), make([]bool, n), make([]bool, n)
		for i, name := range t.Names {
			group := s.classes[i].Group
			c.isAnchor[i], c.isNorm[i] = s.Profile.isAnchor(name), group == "norm"
			c.isEmbedding[i] = group == "embedding" && strings.Contains(strings.ToLower(name), "embed")
			c.isEdge[i] = c.isEmbedding[i] || group == "sampling"
		}
	}
	c.names, c.anchors = c.names[:0], c.anchors[:0]
	for i, k := range s.Order {
		n := t.Kernels[k].Name
		c.names = append(c.names, n)
		if c.isAnchor[n] {
			c.anchors = append(c.anchors, int32(i))
		}
	}
}

// anchorsOf are the anchors of a pass.
func (c *cutter) anchorsOf(p Pass) []int32 {
	i, _ := slices.BinarySearch(c.anchors, p.Start)
	j, _ := slices.BinarySearch(c.anchors, p.End)
	return c.anchors[i:j]
}

// intervals are the ranges of Order from anchor to anchor within passes.
func (c *cutter) intervals() [][2]int32 {
	all := make([][2]int32, 0, len(c.anchors))
	for _, p := range c.passes {
		a := c.anchorsOf(p)
		for i := 1; i < len(a); i++ {
			all = append(all, [2]int32{a[i-1], a[i]})
		}
	}
	return all
}

// checkBatches refuses passes in which two micro-batches interleave: their
// label says so, the same embedding runs more than once in a pass, or most of
// its intervals alternate as those of two micro-batches do.
func (c *cutter) checkBatches() error {
	t := c.s.Trace
	for i, p := range c.passes {
		if len(c.anchorsOf(p)) < 2 {
			continue
		}
		if p.Step >= 0 && c.att.Steps[p.Step].TBO {
			return refuse(ErrInterleaved, "step %q ran as two micro-batches (tbo), whose kernels interleave: "+
				"what lies from one anchor to the next is no layer", c.att.Steps[p.Step].Name)
		}
		if c.takesTurns(p) {
			return refuse(ErrInterleaved, "in pass %d the intervals from anchor to anchor (%d anchors) alternate, and two neighbours together hold each part of a layer "+
				"twice in a row: two micro-batches interleave in it, and what lies from one anchor to the next is no layer", i, len(c.anchorsOf(p)))
		}
		count := map[NameID]int{}
		for _, n := range c.names[p.Start:p.End] {
			if c.isEmbedding[n] {
				if count[n]++; count[n] > 1 && !c.bare {
					return refuse(ErrInterleaved, "pass %d runs %q more than once: two micro-batches interleave in it, "+
						"and what lies from one anchor to the next (%d anchors) is no layer", i, t.Names[n], len(c.anchorsOf(p)))
				}
			}
		}
	}
	return nil
}

// takesTurns reports whether two micro-batches share a pass and its stream: while
// A runs a part of a layer, B is a part or more behind. Then each second interval
// is alike, and two in a row, which differ much, hold together whatever a layer
// has twice: once for A and once for B. Kinds of layers that alternate share
// kernels too, but each has some that the other has not, or few that come in pairs.
func (c *cutter) takesTurns(p Pass) bool {
	a := c.anchorsOf(p)
	interval := func(i int) []NameID { return c.names[a[i]:a[i+1]] }
	known := map[string]bool{} // two intervals in a row, and whether they hold two layers
	turns := 0
	var key []byte
	for i := 0; i+3 < len(a); i++ {
		if !slices.Equal(interval(i), interval(i+2)) || slices.Equal(interval(i), interval(i+1)) {
			continue
		}
		key = c.s.nameKey(key[:0], c.s.Order[a[i]:a[i+2]])
		two, ok := known[string(key)]
		if !ok {
			two = holdTwice(interval(i), interval(i+1))
			known[string(key)] = two
		}
		if two {
			turns++
		}
	}
	return turns > 0 && 2*turns > len(a)-3
}

// holdTwice reports whether two intervals together have each kernel an even number
// of times, though by themselves they differ in a quarter of their kernels.
func holdTwice(a, b []NameID) bool {
	inA, inB := map[NameID]int{}, map[NameID]int{}
	for _, n := range a {
		inA[n]++
	}
	for _, n := range b {
		inB[n]++
	}
	differ := 0
	for _, n := range slices.Concat(a, b) {
		if (inA[n]+inB[n])%2 != 0 {
			return false
		}
		if inA[n] == 0 || inB[n] == 0 {
			differ++
		}
	}
	return 4*differ >= len(a)+len(b)
}
