package tracegen

// enqueue launches a pass's kernels on a device, none to start before floor,
// and adds what happened to g.launches and g.runs.
func (g *generator) enqueue(pl *plan, ln *lane, floor int64) {
	pr := ln.proc
	g.pieces = append(g.pieces[:0], make([]launch, pl.pieces)...)
	layer, node := int32(inPrologue), int32(0)
	ln.last = max(ln.last, floor)
	for i := range pl.slots {
		s := &pl.slots[i]
		c := g.codes[s.code]
		if !g.rand.chance(c.kernel.Chance) {
			continue
		}
		ran := !g.spec.NoKernels && (pl.runs || c.kernel.Eager)
		l := g.launchFor(pl, pr, s, ran)
		if !ran {
			continue
		}
		if s.layer != layer && s.layer != inNone {
			layer = s.layer
			ln.join(c.kernel.Stream)
		}
		r := run{
			corr: l.corr, ext: l.ext, code: s.code, layer: s.layer, lane: int32(ln.index), batch: int32(s.batch),
			stream: int32(c.kernel.Stream),
		}
		if s.piece != noPiece {
			node++
			r.graph, r.node = int32(pl.index+1), node
		}
		g.schedule(ln, c, &r, l.start+l.dur+3*us)
		g.runs = append(g.runs, r)
	}
}

// launchFor gives the call that starts a slot, and makes it if need be. What
// a capture records has calls of its own that run nothing.
func (g *generator) launchFor(pl *plan, pr *process, s *slot, ran bool) launch {
	if s.piece == noPiece || pl.pass.Phase == Capture {
		return g.launch(pr, s.code, ran)
	}
	if l := &g.pieces[s.piece]; l.corr == 0 {
		*l = g.launch(pr, -1, ran)
	}
	return g.pieces[s.piece]
}

// launch adds a runtime call and moves the CPU behind it. Calls for one
// kernel are made by an operator and carry its External id.
func (g *generator) launch(pr *process, code int32, ran bool) launch {
	pr.corr++
	l := launch{corr: pr.corr, code: code, runs: ran}
	if code >= 0 {
		pr.ext++
		l.ext = pr.ext
		l.start = pr.cpu + g.rand.between(3*us, 6*us)
		l.dur = g.cpuTime(3*us, 7*us)
		pr.cpu = l.start + l.dur + 3*us
	} else {
		l.start = pr.cpu + g.rand.between(2*us, 9*us)
		l.dur = g.cpuTime(300*us, 800*us)
		pr.cpu = l.start + l.dur
	}
	g.launches = append(g.launches, l)
	return l
}

// cpuTime draws a duration that the CPU's clock can measure.
func (g *generator) cpuTime(lo, hi int64) int64 { return g.rand.between(lo, hi) / 10 * 10 }

// schedule gives r its time: when its stream is free, behind the kernel before
// it on the device, and not before ready.
func (g *generator) schedule(ln *lane, c *code, r *run, ready int64) {
	r.dur = c.sampler.next()
	quantum := c.sampler.quantum
	start := max(ln.last+quantum, ready, ln.free[r.stream]+g.gap()+int64(c.kernel.Idle))
	r.start = start
	ln.last = start
	ln.free[r.stream] = start + r.dur
	ln.used[r.stream] = true
	g.gpuFree = max(g.gpuFree, start+r.dur)
}

// gap is the time between two kernels of a stream.
func (g *generator) gap() int64 {
	if g.spec.Gap != 0 {
		return int64(g.spec.Gap)
	}
	if g.spec.Vendor == AMD {
		return 1
	}
	return 32 * g.rand.between(10, 22)
}

// join makes a stream wait for all others, as layers do for each other.
func (ln *lane) join(stream int) {
	for st, free := range ln.free {
		if st != stream {
			ln.free[stream] = max(ln.free[stream], free)
		}
	}
}
