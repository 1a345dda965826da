package tracegen

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
)

// A code is a kernel made ready to be written: all text of its events that
// does not change from one to the next.
type code struct {
	kernel  *Kernel
	op      string
	isCopy  bool
	seen    bool // counted in Counts.Names
	sampler sampler

	// By lane: up to the start, and from the device to the correlation id.
	heads, mids [][]byte
	// Behind the correlation id, for an own launch and for a graph launch.
	tail, graphTail []byte

	call call
}

// A call is the runtime call that starts a kernel.
type call struct {
	cat, name  string
	head, tail []byte // args around the correlation id, without External id
}

// shape is what the args of a kernel say about its launch. It depends on the
// name only.
type shape struct {
	grid, block [3]int
	regs, smem  int
	bytes       int64 // of a copy
}

func shapeOf(name string) shape {
	h := fnv.New32a()
	h.Write([]byte(name))
	n := h.Sum32()
	pick := func(shift int, of ...int) int { return of[int(n>>shift&0xff)%len(of)] }
	return shape{
		grid:  [3]int{pick(0, 1, 4, 32, 64, 128, 256, 512, 1024, 2048, 4096), pick(4, 1, 1, 1, 2, 8, 32), 1},
		block: [3]int{pick(8, 64, 128, 256, 256, 512, 1024), 1, 1},
		regs:  pick(12, 16, 18, 32, 40, 64, 96, 128, 168),
		smem:  pick(16, 0, 0, 0, 1024, 8192, 16384, 73728),
		bytes: int64(pick(20, 4, 64, 128, 256, 8192, 131072)),
	}
}

func triple(t [3]int) string { return fmt.Sprintf("[%d, %d, %d]", t[0], t[1], t[2]) }

// perSM prints n/132 with six decimals.
func perSM(n int) string {
	micro := int64(n) * 1e6 / 132
	return fmt.Sprintf("%d.%06d", micro/1e6, micro%1e6)
}

// code gives the index of k's code, and makes it when k is new.
func (g *generator) code(k *Kernel) int32 {
	if i, ok := g.codeOf[k]; ok {
		return i
	}
	c := &code{kernel: k, op: k.Op, sampler: newSampler(k, g.spec.Vendor, g.rand)}
	c.isCopy = strings.HasPrefix(k.Name, "Memcpy") || strings.HasPrefix(k.Name, "Memset")
	if c.op == "" {
		c.op = opFor(k.Name)
	}
	cat := "kernel"
	if c.isCopy {
		cat = "gpu_" + strings.ToLower(k.Name[:len("Memcpy")])
	}
	for _, ln := range g.lanes {
		head := append([]byte(nil), "  {\n    \"ph\": \"X\", \"cat\": \""+cat+"\", \"name\": "...)
		head = appendJSON(head, k.Name)
		head = append(head, ln.rows[k.Stream]...)
		c.heads = append(c.heads, append(head, ",\n    \"ts\": "...))
		c.mids = append(c.mids, g.mid(c, ln.device, g.spec.Streams[k.Stream]))
	}
	c.setTails(g.spec.Vendor)
	c.call = callOf(c, g.spec.Vendor)
	g.codeOf[k] = int32(len(g.codes))
	g.codes = append(g.codes, c)
	return g.codeOf[k]
}

func (g *generator) mid(c *code, device, stream int) []byte {
	switch {
	case g.spec.Vendor == AMD:
		return fmt.Appendf(nil, `      "device": %d, "stream": %d,      "correlation": `, device, stream)
	case c.isCopy:
		return fmt.Appendf(nil, `      "device": %d, "context": 1,      "stream": %d, "correlation": `, device, stream)
	}
	return fmt.Appendf(nil, `      "queued": 0, "device": %d, "context": 1,      "stream": %d, "correlation": `, device, stream)
}

func (c *code) setTails(v Vendor) {
	s := shapeOf(c.kernel.Name)
	switch {
	case c.isCopy:
		if v == AMD {
			c.tail = fmt.Appendf(nil, `, "kind": "%s"`, copyKind(c.kernel.Name))
		}
		c.tail = fmt.Appendf(c.tail, `,      "bytes": %d, "memory bandwidth (GB/s)": `, s.bytes)
		c.graphTail = c.tail
	case v == AMD:
		c.tail = fmt.Appendf(nil, `, "kind": "Dispatch Kernel",      "grid":     %s, "block":     %s`, triple(s.grid), triple(s.block))
		c.graphTail = []byte(`, "kind": "Dispatch Task"`)
	default:
		blocks := s.grid[0] * s.grid[1]
		c.tail = fmt.Appendf(nil, `,      "registers per thread": %d,      "shared memory": %d,      "blocks per SM": %s,      "warps per SM": %s,      "grid": %s,      "block": %s,      "est. achieved occupancy %%": %d`,
			s.regs, s.smem, perSM(blocks), perSM(blocks*s.block[0]/32), triple(s.grid), triple(s.block), min(100, blocks*s.block[0]/2700))
		c.graphTail = append(append([]byte(nil), c.tail...), `,      "graph id": `...)
	}
}

func copyKind(name string) string {
	if kind, _, ok := strings.Cut(strings.TrimPrefix(name, "Memcpy "), " "); ok && strings.HasPrefix(name, "Memcpy ") {
		return kind
	}
	return "Memset"
}

func callOf(c *code, v Vendor) call {
	if v == AMD {
		return hipCall(c)
	}
	name := c.kernel.Name
	cat, fn, cbid := "cuda_runtime", "cudaLaunchKernel", 211
	switch {
	case strings.HasPrefix(name, "Memset"):
		fn, cbid = "cudaMemsetAsync", 51
	case c.isCopy:
		fn, cbid = "cudaMemcpyAsync", 41
	case strings.HasPrefix(name, "triton_"):
		cat, fn, cbid = "cuda_driver", "cuLaunchKernelEx", 652
	case strings.HasPrefix(name, "nvjet"):
		fn, cbid = "cudaLaunchKernelExC", 430
	}
	return call{cat, fn, fmt.Appendf(nil, `      "cbid": %d, "correlation": `, cbid), nil}
}

// hipCall is a call of AMD's runtime, whose args name the kernel.
func hipCall(c *code) call {
	name := c.kernel.Name
	fn, cid := "hipLaunchKernel", 107
	switch {
	case strings.HasPrefix(name, "Memset"):
		fn, cid = "hipMemsetAsync", 147
	case c.isCopy:
		fn, cid = "hipMemcpyAsync", 134
	case strings.HasPrefix(name, "triton_"):
		fn, cid = "hipModuleLaunchKernel", 169
	}
	s := shapeOf(name)
	if c.isCopy {
		return call{"cuda_runtime", fn, fmt.Appendf(nil, `      "cid": %d, "correlation": `, cid), fmt.Appendf(nil, `, "bytes": "%d"`, s.bytes)}
	}
	head := appendJSON([]byte(`          "kernel": `), name)
	head = fmt.Appendf(head, `, "cid": %d, "correlation": `, cid)
	tail := fmt.Appendf(nil, `,      "grid": %s,      "block": %s,      "shared memory": %d`, triple(s.grid), triple(s.block), s.smem)
	return call{"cuda_runtime", fn, head, tail}
}

// graphCall is the call that replays a graph.
func graphCall(v Vendor) call {
	if v == AMD {
		return call{"cuda_runtime", "hipGraphLaunch", []byte(`      "cid": 215, "correlation": `), nil}
	}
	return call{"cuda_runtime", "cudaGraphLaunch", []byte(`      "cbid": 311, "correlation": `), nil}
}

// opFor guesses the operator that launches a kernel.
func opFor(name string) string {
	for _, rule := range [...][2]string{
		{"gemm", "aten::mm"}, {"Cijk_", "aten::mm"}, {"nvjet", "aten::mm"}, {"bmm_", "aten::bmm"},
		{"norm", "aten::rms_norm"}, {"embedding", "aten::embedding"}, {"indexSelect", "aten::index_select"},
		{"copy", "aten::copy_"}, {"Memcpy", "aten::copy_"}, {"Memset", "aten::zero_"}, {"Fill", "aten::fill_"},
		{"reduce", "c10d::allreduce_"}, {"topk", "aten::topk"}, {"ample", "aten::multinomial"},
	} {
		if strings.Contains(name, rule[0]) {
			return rule[1]
		}
	}
	return "aten::empty_like"
}

// kernelEvent writes a kernel or a copy that ran, and its end of the arrow.
func (g *generator) kernelEvent(r *run) {
	o, c := &g.out, g.codes[r.code]
	start := r.start + g.skew
	b := append(o.buf, c.heads[r.lane]...)
	b = appendUS(b, start)
	b = append(b, ", \"dur\": "...)
	b = appendUS(b, r.dur)
	b = append(b, ",\n    \"args\": {\n      "...)
	if r.ext != 0 {
		b = append(b, `"External id": `...)
		b = strconv.AppendInt(b, r.ext, 10)
		b = append(b, ',')
	}
	b = append(b, c.mids[r.lane]...)
	b = strconv.AppendInt(b, r.corr, 10)
	switch {
	case c.isCopy:
		b = append(b, c.tail...)
		b = appendUS(b, shapeOf(c.kernel.Name).bytes*1000/r.dur)
	case r.node == 0:
		b = append(b, c.tail...)
	default:
		b = append(b, c.graphTail...)
		if g.spec.Vendor == NVIDIA {
			b = strconv.AppendInt(b, int64(r.graph), 10)
			b = append(b, `, "graph node id": `...)
			b = strconv.AppendInt(b, int64(r.node), 10)
		}
	}
	o.buf = append(b, eventEnd...)
	o.event()
	g.countKernel(c)
	if !g.spec.NoFlows {
		o.flow("f", r.corr, g.lanes[r.lane].rows[c.kernel.Stream], start)
	}
}

func (g *generator) countKernel(c *code) {
	if c.isCopy {
		g.out.counts.Copies++
		return
	}
	g.out.counts.Kernels++
	if !c.seen {
		c.seen = true
		g.names[c.kernel.Name] = true
		g.out.counts.Names = len(g.names)
	}
}

// launchEvent writes a runtime call, and the arrow's start if something ran.
func (g *generator) launchEvent(pr *process, l *launch) {
	o, c := &g.out, &g.graphCall
	if l.code >= 0 {
		c = &g.codes[l.code].call
	}
	o.begin(c.cat, c.name, pr.row, l.start, l.dur)
	if l.ext != 0 {
		o.arg("", "External id", l.ext)
		o.buf = append(o.buf, ',')
	}
	o.buf = append(o.buf, c.head...)
	o.buf = strconv.AppendInt(o.buf, l.corr, 10)
	o.buf = append(o.buf, c.tail...)
	o.end()
	o.counts.Launches++
	if l.runs && !g.spec.NoFlows {
		o.flow("s", l.corr, pr.row, l.start)
	}
}
