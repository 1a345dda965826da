package tracegen

import (
	"cmp"
	"slices"
)

// Truth is what is true of a written trace.
//
// A kernel's index is its position among the events with ph X and cat kernel,
// of all devices and streams, sorted by start, ties in the order of the file.
type Truth struct {
	Counts Counts
	Passes []PassTruth // in the order they ran; nil with Spec.CountsOnly
}

// Counts are numbers of events in a file.
type Counts struct {
	Bytes     int64
	Events    int // in traceEvents, of any sort
	Kernels   int
	Copies    int // gpu_memcpy and gpu_memset
	Launches  int // runtime calls that start a kernel, a graph or a copy
	Labels    int // step labels on the CPU row
	GPULabels int // step labels on GPU rows
	Python    int // python_function
	Ops       int // cpu_op
	Names     int // distinct names of kernels that ran
}

// PassTruth is what is true of one pass on one device.
type PassTruth struct {
	Pass    int // index into Spec.Passes
	Process int // index into Spec.Processes
	Device  int // device number
	Batch   int // 1 for the second micro-batch, else 0

	Phase    Phase
	Requests int
	Context  int // of them in prefill
	Graph    int // size of the padded graph, 0 if not padded
	Tokens   int
	Labels   []string // outermost first, without families that have none for it

	// Layers are nil where nothing ran: in a capture, and without kernels.
	Layers []LayerTruth
	// Indices in order of time. Strays belong to no layer.
	Prologue, Epilogue, Strays []int32
}

// LayerTruth is what is true of one layer.
type LayerTruth struct {
	Kind    string
	Kernels []int32 // indices in order of time
	Cut     bool    // its first kernels ran before the recording began
}

// addTruth indexes the kernels of the pass that just ran. They are the last
// ones in time: a pass starts after the one before has ended on every device.
func (g *generator) addTruth(pl *plan, labels []string) {
	if g.spec.CountsOnly {
		return
	}
	kernels := g.sorted[:0]
	for i := range g.runs {
		if !g.codes[g.runs[i].code].isCopy {
			kernels = append(kernels, int32(i))
		}
	}
	g.sorted = kernels
	base := g.out.counts.Kernels - len(kernels)
	slices.SortStableFunc(kernels, func(a, b int32) int {
		return cmp.Compare(g.runs[a].start, g.runs[b].start)
	})
	perLane := pl.batches()
	first := len(g.truth.Passes)
	for _, ln := range g.lanes {
		for b := range perLane {
			g.truth.Passes = append(g.truth.Passes, pl.truth(ln, b, labels))
		}
	}
	for i, at := range kernels {
		r := &g.runs[at]
		g.truth.Passes[first+int(r.lane)*perLane+int(r.batch)].add(r, int32(base+i))
	}
}

func (p *PassTruth) add(r *run, index int32) {
	switch r.layer {
	case inPrologue:
		p.Prologue = append(p.Prologue, index)
	case inEpilogue:
		p.Epilogue = append(p.Epilogue, index)
	case inNone:
		p.Strays = append(p.Strays, index)
	default:
		l := &p.Layers[r.layer]
		l.Kernels = append(l.Kernels, index)
	}
}

// truth gives the pass's truth on a lane, without any kernel yet.
func (pl *plan) truth(ln *lane, batch int, labels []string) PassTruth {
	p := pl.pass
	t := PassTruth{
		Pass: pl.index, Process: ln.proc.index, Device: ln.device, Batch: batch,
		Phase: p.Phase, Requests: p.Requests, Context: p.context(), Tokens: p.tokens(),
		Labels: labels,
	}
	if p.Graph > p.Requests {
		t.Graph = p.Graph
	}
	if !pl.runs {
		return t
	}
	t.Layers = make([]LayerTruth, len(p.Layers))
	for i, kind := range p.Layers {
		t.Layers[i] = LayerTruth{Kind: kind.Name, Cut: pl.cut[batch*len(p.Layers)+i]}
	}
	return t
}
