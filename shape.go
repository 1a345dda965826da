package tracelayer

import (
	"fmt"
	"math"
	"slices"
)

// layers cuts every pass that has anchors.
func (c *cutter) layers() error {
	s := c.s
	shape, ok := c.shape()
	if !ok {
		return refuse(ErrNoLayers, "%d anchors, but no pass that labels or launches tell has two: "+
			"they may be labels of less than a pass; --streams merged cuts from anchor to anchor whatever the labels say", len(c.anchors))
	}
	if c.bare {
		if n := c.numLayers; n > 0 && len(c.anchors)%n != 0 {
			return refuse(ErrRemainder, "%d anchors, %d layers a pass: %d passes and remainder %d; "+
				"the trace may begin or end within a pass, or draft and target layers share the anchor", len(c.anchors), n, len(c.anchors)/n, len(c.anchors)%n)
		}
		c.splitAtGaps(shape)
		c.splitByNumber(shape)
	}
	like := c.usual()
	s.Anchors, s.Layers = 0, make([]Layer, 0, len(c.anchors))
	for _, p := range c.passes {
		if len(c.anchorsOf(p)) == 0 {
			s.NoAnchor += int(p.End - p.Start)
			continue
		}
		c.cutPass(&p, like, shape)
		s.Passes = append(s.Passes, p)
	}
	c.judge()
	return nil
}

// judge finds passes at the ends of the trace that have fewer layers than others
// of their phase and lack what the others have at that end: there the recording
// began or ended.
func (c *cutter) judge() {
	s := c.s
	if len(s.Passes) < 2 {
		return
	}
	most := map[Phase]Pass{}
	phase := func(p Pass) Phase {
		if p.Step < 0 {
			return PhaseUnknown
		}
		return c.att.Steps[p.Step].Phase
	}
	for _, p := range s.Passes {
		if m, ok := most[phase(p)]; !ok || p.N > m.N {
			most[phase(p)] = p
		}
	}
	// short is how many layers the i-th pass lacks at an end that part is; 0 if
	// that end is like the longest pass's, or another pass is as short and ends alike.
	short := func(i int, part func(Pass) []int32) int {
		p := s.Passes[i]
		m := most[phase(p)]
		same := func(q Pass) bool { return slices.Equal(s.names(part(p)), s.names(part(q))) }
		if p.Cut != "" || p.N >= m.N || p.By != ByGap && same(m) {
			return 0
		}
		for j, q := range s.Passes {
			if j != i && q.N == p.N && phase(q) == phase(p) && same(q) {
				return 0
			}
		}
		return m.N - p.N
	}
	first, last := &s.Passes[0], &s.Passes[len(s.Passes)-1]
	if n := short(0, s.Prologue); n > 0 {
		first.Cut = fmt.Sprintf("has %d layers instead of %d, at the beginning of the trace", first.N, first.N+n)
	}
	if n := short(len(s.Passes)-1, s.Epilogue); n > 0 {
		last.Cut = fmt.Sprintf("has %d layers instead of %d, at the end of the trace", last.N, last.N+n)
	}
}

// A layerShape is where a layer begins, seen from its anchor.
type layerShape struct {
	lead  int    // kernels of a layer in front of its anchor
	start NameID // the first of them, where every layer but a pass's first has it
}

// shape finds where layers begin. In front of a pass's first anchor stand the
// same kernels as in front of the others back to where the layer begins, and
// there the prologue differs; behind the last anchor the same kernels follow as
// behind others until the layer ends, and there the epilogue differs, though
// its final norm is mostly the kernel that would open the next layer. Both
// bound the place, and a norm between the bounds settles it.
func (c *cutter) shape() (layerShape, bool) {
	best, found := layerShape{}, false
	for _, p := range c.passes {
		a := c.anchorsOf(p)
		if len(a) < 2 {
			continue
		}
		upper, from := c.longestLead(p, a)
		if c.bare {
			upper = min(upper, c.leadBehindGaps())
		}
		lower := c.leastLead(p, a, upper)
		lead := -1
		for n := lower; n <= upper; n++ {
			if n > 0 && c.isNorm[c.names[from-int32(n)]] {
				lead = n
				break
			}
		}
		if lead < 0 {
			lead = upper
		}
		found = true
		best = layerShape{lead: lead, start: c.names[from-int32(lead)]}
		if lower <= upper {
			break // the bounds of this pass agree; the others are alike
		}
	}
	return best, found
}

// longestLead is how many kernels in front of the first anchor of a pass look
// like those in front of another one, which it returns.
func (c *cutter) longestLead(p Pass, a []int32) (lead int, from int32) {
	from = a[1]
	for i := 1; i < len(a) && i < 12; i++ {
		n := len(c.alignBack(p.Start, a[0], a[i-1]+1, a[i])) - 1
		if n > lead {
			lead, from = n, a[i]
		}
	}
	return lead, from
}

// leadBehindGaps is longestLead for the anchors behind intervals of unusual
// length, where a pass may begin; the least of them.
func (c *cutter) leadBehindGaps() int {
	like := c.usual()
	longest, least := int32(0), math.MaxInt
	for _, iv := range like {
		longest = max(longest, iv[1]-iv[0])
	}
	for _, iv := range c.intervals() {
		if iv[1]-iv[0] <= longest && !c.hasEdge(iv) {
			continue
		}
		lead := 0
		for _, l := range like[:min(len(like), 12)] {
			lead = max(lead, len(c.alignBack(iv[0]+1, iv[1], l[0]+1, l[1]))-1)
		}
		least = min(least, lead)
	}
	return least
}

// alignBack compares the kernels in front of an anchor at to, down to from,
// with those in front of another at like, down to floor. It returns, for each
// number of kernels in front of like, how many in front of to match them. One
// kernel may be missing (the first layer has no residual to copy), and one norm
// may be another norm.
func (c *cutter) alignBack(from, to, floor, like int32) []int {
	got := []int{0}
	i, missing, swapped := int32(0), false, false
	for j := int32(0); like-1-j >= floor && to-1-i >= from; j++ {
		x, y := c.names[to-1-i], c.names[like-1-j]
		switch {
		case x == y:
			i++
		case !swapped && c.isNorm[x] && c.isNorm[y]:
			swapped = true
			i++
		case !missing && like-2-j >= floor && c.names[like-2-j] == x:
			missing = true
		default:
			return got
		}
		got = append(got, int(i))
	}
	return got
}

// leastLead is how many kernels of a layer stand in front of its anchor at
// least: what an interval has beyond the kernels that follow the last anchor of
// the pass too. The interval that agrees longest counts; without labels and
// launches one that leads beyond most is the step from one pass to the next.
func (c *cutter) leastLead(p Pass, a []int32, most int) int {
	least, post := 0, -1
	last := a[len(a)-1]
	for i := len(a) - 1; i > 0; i-- {
		n := c.alike(last+1, p.End, a[i-1]+1, a[i])
		lead := int(a[i]-a[i-1]) - 1 - n
		if n > post && (!c.bare || lead <= most) {
			least, post = max(lead, 0), n
		}
	}
	return least
}

// alike is the number of equal names at the beginnings of two ranges of Order.
func (c *cutter) alike(from, to, like, end int32) int {
	n := int32(0)
	for from+n < to && like+n < end && c.names[from+n] == c.names[like+n] {
		n++
	}
	return int(n)
}

// startOf is where the layer of an anchor begins: shape.lead kernels before it,
// or at the nearest kernel of the name that opens layers, not before floor.
func (c *cutter) startOf(anchor, floor int32, shape layerShape) int32 {
	guess := anchor - int32(shape.lead)
	if guess >= floor && c.names[guess] == shape.start {
		return guess
	}
	for d := int32(1); d <= int32(shape.lead)+8; d++ {
		for _, at := range []int32{guess - d, guess + d} {
			if at >= floor && at < anchor && c.names[at] == shape.start {
				return at
			}
		}
	}
	return max(guess, floor)
}

// usual are the intervals that begin and end in neighbouring layers of one
// pass. Without labels and launches those that hold an embedding or a sampler
// are not, and those whose length occurs only once may not be, so they serve
// only where there are no others. Of intervals with the same names it has the
// first.
func (c *cutter) usual() [][2]int32 {
	all := c.intervals()
	count := map[int32]int{}
	for _, iv := range all {
		count[iv[1]-iv[0]]++
	}
	seen := map[string]bool{}
	var often, rare, edges [][2]int32
	var key []byte
	for _, iv := range all {
		key = c.s.nameKey(key[:0], c.s.Order[iv[0]:iv[1]])
		if seen[string(key)] {
			continue
		}
		seen[string(key)] = true
		switch {
		case c.hasEdge(iv):
			edges = append(edges, iv)
		case count[iv[1]-iv[0]] < 2:
			rare = append(rare, iv)
		default:
			often = append(often, iv)
		}
	}
	switch {
	case len(often) > 0:
		return often
	case len(rare) > 0:
		return rare
	}
	return edges
}

// hasEdge reports whether an interval holds the end of a pass, as far as the
// names of its kernels tell, in a trace that has nothing better to tell by.
func (c *cutter) hasEdge(iv [2]int32) bool {
	return c.bare && slices.ContainsFunc(c.names[iv[0]:iv[1]], func(n NameID) bool { return c.isEdge[n] })
}

// endOf is where the layer of an anchor ends, going by the interval that begins
// as what follows the anchor does; a few names between may differ. It is -1 if the layer is not there to its end.
func (c *cutter) endOf(anchor, to int32, like [][2]int32, shape layerShape) int32 {
	best, end := -1, int32(-1)
	for _, iv := range like {
		n := c.alike(anchor, to, iv[0], iv[1])
		if n < best || n == best && end >= 0 {
			continue
		}
		best, end = n, -1
		length := c.startOf(iv[1], iv[0]+1, shape) - iv[0]
		if int32(n) >= length || anchor+length <= to && c.endsAlike(anchor+length, to, iv[0]+length) &&
			similar(c.names[anchor:anchor+length], c.names[iv[0]:iv[0]+length]) {
			end = anchor + length
		}
	}
	return end
}

// endsAlike reports whether a layer may end in front of end as another ends in
// front of like: with the same kernel, or with another one that a norm follows,
// as one follows the last layer of a pass.
func (c *cutter) endsAlike(end, to, like int32) bool {
	return c.names[end-1] == c.names[like-1] || end < to && c.isNorm[c.names[end]] && !c.isNorm[c.names[end-1]]
}

// splitAtGaps splits the one pass of a trace without labels and graphs where
// kernels that occur in no layer stand between two layers.
func (c *cutter) splitAtGaps(shape layerShape) {
	whole := c.passes[0]
	like, a := c.usual(), c.anchorsOf(whole)
	inLayers := make([]bool, len(c.s.Trace.Names))
	for _, iv := range like {
		for _, n := range c.names[iv[0]:iv[1]] {
			inLayers[n] = true
		}
	}
	lastEnd := c.endOf(a[len(a)-1], whole.End, like, shape)
	passes := []Pass{{Step: NoStep, By: ByGap, Start: whole.Start}}
	for i := 1; i < len(a); i++ {
		begin := c.startOf(a[i], a[i-1]+1, shape)
		end := c.endOf(a[i-1], begin, like, shape)
		switch {
		case end < 0 && c.hasEdge([2]int32{a[i-1], a[i]}):
			end = c.edgeIn(a[i-1], begin)
		case end < 0, !slices.ContainsFunc(c.names[end:begin], func(n NameID) bool { return !inLayers[n] }):
			continue
		}
		cut := c.edgeIn(end, begin)
		if cut == begin && !c.isEdge[c.names[begin-1]] { // no name tells
			cut = c.longestIdle(end, begin)
		}
		if lastEnd >= 0 { // the trace's last epilogue shows how long one is
			if n := c.alike(end, begin, lastEnd, whole.End); n > 0 {
				cut = end + int32(n)
			}
		}
		passes[len(passes)-1].End = cut
		passes = append(passes, Pass{Step: NoStep, By: ByGap, Start: cut})
	}
	passes[len(passes)-1].End = whole.End
	c.passes = passes
}

// splitByNumber splits a trace in which nothing shows where passes begin into
// passes of the number of layers that the user knows.
func (c *cutter) splitByNumber(shape layerShape) {
	if len(c.passes) > 1 || c.numLayers == 0 {
		return
	}
	whole, a := c.passes[0], c.anchors
	passes := []Pass{{Step: NoStep, By: ByGap, Start: whole.Start}}
	for i := c.numLayers; i < len(a); i += c.numLayers {
		begin := c.startOf(a[i], a[i-1]+1, shape)
		passes[len(passes)-1].End = begin
		passes = append(passes, Pass{Step: NoStep, By: ByGap, Start: begin})
	}
	passes[len(passes)-1].End = whole.End
	c.passes = passes
}

// edgeIn is where a pass begins in Order[from:to]: at the first embedding, or
// behind the last sampler where there is none.
func (c *cutter) edgeIn(from, to int32) int32 {
	at := to
	for i := to - 1; i >= from; i-- {
		switch n := c.names[i]; {
		case c.isEmbedding[n]:
			at = i
		case c.isEdge[n] && at == to:
			at = i + 1
		}
	}
	return at
}

// longestIdle is the place in Order[from:to] behind the longest time without a
// kernel; a to behind the end of Order counts as its end.
func (c *cutter) longestIdle(from, to int32) int32 {
	t, order := c.s.Trace, c.s.Order
	at, longest := from, Time(math.MinInt64)
	for i := max(from, 1); i < min(to, int32(len(order))); i++ {
		if idle := t.Kernels[order[i]].Start - t.Kernels[order[i-1]].End(); idle > longest {
			at, longest = i, idle
		}
	}
	return at
}

// cutPass cuts one pass into layers. A first or last layer that is not whole is
// no layer: its kernels stay in the prologue or the epilogue, and the pass is Cut.
func (c *cutter) cutPass(p *Pass, like [][2]int32, shape layerShape) {
	s, a := c.s, c.anchorsOf(*p)
	p.First, p.Anchors = len(s.Layers), len(a)
	first := c.firstStart(p.Start, a[0], like, shape)
	if first < 0 {
		p.Cut = "begins within a layer"
	}
	for i, anchor := range a {
		start, end := first, int32(-1)
		if i > 0 {
			start = c.startOf(anchor, a[i-1]+1, shape)
		}
		if i+1 < len(a) {
			end = c.startOf(a[i+1], anchor+1, shape)
		} else if end = c.endOf(anchor, p.End, like, shape); end < 0 {
			p.Cut = "ends within a layer, or with one like no other"
		}
		if start >= 0 && end >= 0 {
			s.Layers = append(s.Layers, Layer{Ordinal: s.Anchors, Pass: len(s.Passes), Index: len(s.Layers) - p.First, Start: start, End: end})
		}
		s.Anchors++
	}
	p.N = len(s.Layers) - p.First
}

// firstStart is where the layer of a pass's first anchor begins, or -1 if the
// kernels in front of the anchor do not go back that far.
func (c *cutter) firstStart(from, anchor int32, like [][2]int32, shape layerShape) int32 {
	for _, iv := range like {
		lead := int(iv[1] - c.startOf(iv[1], iv[0]+1, shape))
		if m := c.alignBack(from, anchor, iv[0]+1, iv[1]); len(m) > lead {
			return anchor - int32(m[lead])
		}
	}
	return -1
}
