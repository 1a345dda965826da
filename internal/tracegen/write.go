package tracegen

import (
	"fmt"
	"io"
	"slices"
)

// A generator writes one file.
type generator struct {
	spec  Spec
	out   out
	rand  random
	procs []*process
	lanes []*lane // of all processes, in their order
	plans []*plan

	codes     []*code
	codeOf    map[*Kernel]int32
	names     map[string]bool
	graphCall call
	frames    []frame

	start   int64 // of the recording; nanoseconds since baseTime, as all times
	cpu     int64 // when the next pass begins on the CPU
	gpuFree int64 // when the last kernel so far ends
	skew    int64
	passes  int // that ran

	// Of the pass that runs. They are kept for their memory.
	runs     []run
	launches []launch
	pieces   []launch // graph launches by number, corr 0 if not made yet
	sorted   []int32

	truth Truth
}

// A process is the CPU side of a rank.
type process struct {
	Process
	index int
	row   []byte
	lanes []*lane
	cpu   int64 // time that its thread has reached

	corr, ext, evIdx, python int64 // last numbers given out
}

// A lane is one device of one process.
type lane struct {
	proc   *process
	index  int
	device int
	rows   [][]byte // by stream
	free   []int64  // by stream: end of its last kernel
	used   []bool   // by stream
	last   int64    // start of the last kernel
}

// A run is a kernel that ran.
type run struct {
	start, dur  int64
	corr, ext   int64
	code, layer int32
	lane, batch int32
	graph, node int32 // of a graph launch, else 0
	stream      int32
}

// A launch is a runtime call.
type launch struct {
	start, dur int64
	corr, ext  int64
	code       int32 // -1 is a graph
	runs       bool  // something ran that it started
}

// Write writes the trace that s describes to w. What it returns is complete
// also for a file of gigabytes; its size grows with the number of kernels
// unless s.CountsOnly is set.
func Write(w io.Writer, s Spec) (Truth, error) {
	s, err := s.withDefaults()
	if err != nil {
		return Truth{}, fmt.Errorf("tracegen: %w", err)
	}
	g := newGenerator(w, s)
	g.header()
	g.warmup()
	for more := true; more; more = g.out.size() < s.Bytes && g.out.err == nil {
		for _, pl := range g.plans {
			for range max(1, pl.pass.Repeat) {
				if s.Bytes == 0 || g.out.size() < s.Bytes {
					g.runPass(pl)
				}
			}
		}
	}
	g.trailer()
	g.truth.Counts = g.out.counts
	return g.truth, g.out.err
}

func newGenerator(w io.Writer, s Spec) *generator {
	g := &generator{
		spec: s, out: out{w: w}, rand: newRandom(s.Seed), codeOf: map[*Kernel]int32{}, names: map[string]bool{},
		graphCall: graphCall(s.Vendor), start: (4_271_985_100+int64(s.Seed%1000))*ms + 863_070, skew: int64(s.Skew),
	}
	for i, p := range s.Processes {
		pr := &process{Process: p, index: i, row: row(&p, p.PID, p.PID), corr: 1000, ext: 500}
		for _, d := range p.Devices {
			ln := &lane{proc: pr, index: len(g.lanes), device: d}
			for _, n := range s.Streams {
				ln.rows = append(ln.rows, row(&p, d, n))
			}
			ln.free, ln.used = make([]int64, len(s.Streams)), make([]bool, len(s.Streams))
			pr.lanes = append(pr.lanes, ln)
			g.lanes = append(g.lanes, ln)
		}
		g.procs = append(g.procs, pr)
	}
	for i := range s.Passes {
		g.plans = append(g.plans, g.newPlan(&s.Passes[i], i))
	}
	g.frames = newFrames()
	g.cpu = g.start + 150*us
	return g
}

// warmup writes what the CPU does before the first kernel is recorded.
func (g *generator) warmup() {
	from := g.cpu
	for _, pr := range g.procs {
		pr.cpu = from
		g.noise(pr, g.spec.WarmupNoise)
		g.cpu = max(g.cpu, pr.cpu)
	}
	if w := int64(g.spec.Warmup); w > 0 {
		g.cpu = max(g.cpu, from+w)
	}
}

// end is when the recording ends.
func (g *generator) end() int64 { return max(g.cpu, g.gpuFree+g.skew) + 1200*us }

// labels are the step labels of the next pass, outermost first.
func (g *generator) labels(p *Pass) []string {
	var labels []string
	for _, f := range g.spec.Labels {
		if l := f.label(p, g.passes); l != "" {
			labels = append(labels, l)
		}
	}
	return labels
}

// runPass runs a pass on every device and writes it.
func (g *generator) runPass(pl *plan) {
	labels := g.labels(pl.pass)
	begin, free := g.cpu, g.gpuFree
	g.runs = g.runs[:0]
	for i, pr := range g.procs {
		pr.cpu = begin + int64(i)*g.rand.between(us, 4*us)
		g.noise(pr, g.spec.Noise)
		g.runProcess(pl, pr, labels, free+g.rand.between(20*us, 60*us))
		g.cpu = max(g.cpu, pr.cpu)
	}
	// The next step is prepared while this one's last kernels still run.
	g.cpu = max(g.cpu+g.rand.between(50*us, 150*us), g.gpuFree-g.rand.between(100*us, 300*us))
	g.addTruth(pl, labels)
	g.passes++
}

// runProcess runs a pass on the devices of one process, not before floor.
func (g *generator) runProcess(pl *plan, pr *process, labels []string, floor int64) {
	spans := make([]span, len(labels))
	for i := range spans {
		pr.ext++
		spans[i] = span{name: labels[i], start: pr.cpu, ext: pr.ext}
		pr.cpu += g.rand.between(8*us, 40*us)
	}
	g.launches = g.launches[:0]
	first := len(g.runs)
	for _, ln := range pr.lanes {
		g.enqueue(pl, ln, floor)
	}
	for i := len(spans) - 1; i >= 0; i-- {
		pr.cpu += g.rand.between(3*us, 20*us)
		spans[i].end = pr.cpu
	}
	g.writeCPU(pl, pr, spans)
	runs := g.runs[first:]
	if g.spec.Shuffle {
		for i := len(runs) - 1; i > 0; i-- {
			j := g.rand.below(int64(i + 1))
			runs[i], runs[j] = runs[j], runs[i]
		}
	}
	for i := range runs {
		g.kernelEvent(&runs[i])
	}
	if g.spec.Rows&RowGPU != 0 {
		g.writeGPULabels(pr, spans, runs)
	}
}

// A span is a label with its time on the CPU.
type span struct {
	name       string
	start, end int64
	ext        int64
}

// writeCPU writes the CPU rows of a pass: labels, operators, launch calls.
func (g *generator) writeCPU(pl *plan, pr *process, spans []span) {
	if g.spec.Rows&RowCPU != 0 {
		for _, s := range spans {
			pr.evIdx++
			g.out.label(pr.row, s.name, s.start, s.end-s.start, s.ext, pr.evIdx)
		}
	}
	rows := int64(pl.pass.tokens())
	for i := range g.launches {
		if l := &g.launches[i]; l.ext != 0 {
			pr.evIdx++
			g.out.op(pr.row, g.codes[l.code].op, l.start-3*us, l.dur+5*us, l.ext, pr.evIdx, rows)
		}
	}
	for i := range g.launches {
		g.launchEvent(pr, &g.launches[i])
	}
}

// writeGPULabels writes each label once for each stream that ran a kernel.
func (g *generator) writeGPULabels(pr *process, spans []span, runs []run) {
	for _, ln := range pr.lanes {
		for st := range g.spec.Streams {
			start, end := int64(0), int64(0)
			for i := range runs {
				r := &runs[i]
				if int(r.lane) != ln.index || int(r.stream) != st {
					continue
				}
				if start == 0 || r.start < start {
					start = r.start
				}
				end = max(end, r.start+r.dur)
			}
			if start == 0 {
				continue
			}
			for _, s := range slices.Backward(spans) {
				g.out.gpuLabel(ln.rows[st], s.name, start-1+g.skew, end-start+2, s.ext)
			}
		}
	}
}
