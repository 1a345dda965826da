// Package tracegen writes synthetic torch.profiler traces of LLM servers in
// Kineto's own layout, together with what is true of them: passes, layers and
// the kernels of each. The same [Spec] gives the same bytes on every machine.
//
// A file is written as a stream, pass after pass, so its size is not bounded
// by memory. Kineto itself puts the CPU rows of the whole window first; here
// each pass is complete (CPU rows, launch calls, kernels, GPU labels) before
// the next begins.
package tracegen

//go:generate go run ./cmd/tracegen -testdata ../../testdata/traces

import (
	"fmt"
	"time"
)

// A Spec describes a trace. The zero value of a field is the plain choice.
type Spec struct {
	Seed   uint64
	Vendor Vendor

	// Labels are the families of step labels, outermost first; nil writes no
	// label. Two families give two labels for each step, one around the other.
	Labels []Family
	// Rows says where labels stand; zero is RowCPU.
	Rows Rows

	// Processes are the ranks in the file; nil is one process with device 0.
	// Every pass runs on every device of every process.
	Processes       []Process
	Rank, WorldSize int // of distributedInfo; world size 0 is 1

	// Streams are the numbers of the streams that Kernel.Stream counts; nil is
	// 7, 23, 31 for NVIDIA and 3, 5, 9 for AMD.
	Streams []int

	// Passes run in this order. With Bytes > 0 the list runs again and again
	// until the file has that size, and ends at the next end of a pass.
	Passes []Pass
	Bytes  int64

	// Warmup is the time at the start in which the CPU works and no kernel was
	// recorded, as with rocprofiler.
	Warmup time.Duration
	// WarmupNoise is written during Warmup, Noise before each pass.
	WarmupNoise, Noise Noise

	// Gap is the time between two kernels of a stream; zero is what the
	// vendor's traces show (AMD 1 ns, NVIDIA about 0.5 us). Negative lets
	// kernels overlap, as dependent launches do. Starts still increase.
	Gap time.Duration
	// Skew is added to every time on the GPU rows. Real traces have up to
	// 70 ms of it: GPU time against a CPU label is no evidence.
	Skew time.Duration

	Shuffle    bool // kernels of a pass stand in no order of time
	NoKernels  bool // launch calls and labels, but no GPU row at all
	NoFlows    bool // without ac2g flow events
	CountsOnly bool // Truth without passes: for files of gigabytes
}

// A Process is one rank: a CPU process and the GPUs that it launches on.
type Process struct {
	PID     int
	Devices []int // device numbers, also the pids of their rows; nil is device 0
	// Prefix makes every pid a string, such as "[TP00-DP00-PP00-EP00] 4242",
	// which is what SGLang's merger of ranks does. Correlation ids and
	// devices of the ranks then coincide.
	Prefix string
}

// Noise is what the CPU does beside launching: numbers of events.
type Noise struct {
	Python int // python_function events, properly nested; a few more may be written
	Ops    int // cpu_op events without a kernel
}

// A Kernel is one position of a layer, a prologue or an epilogue.
// A name that starts with "Memcpy" or "Memset" is written as a gpu_memcpy or
// gpu_memset event and is no kernel: Truth does not index it.
type Kernel struct {
	Name string
	Mean time.Duration
	Std  time.Duration // 0 is Mean/25; negative is none
	// Lo and Hi, if set, are taken by about one sample in a thousand.
	Lo, Hi time.Duration
	Stream int           // 0 is the main stream, 1 the first side stream
	Idle   time.Duration // time without work before it
	Chance float64       // probability that it runs; 0 is 1
	Eager  bool          // its own launch call, also in a pass replayed from a graph
	Op     string        // cpu_op around its own launch; "" is guessed from Name
}

// A Kind is a sort of layer: its kernels in order.
type Kind struct {
	Name    string
	Kernels []Kernel
	// Split is where TwoBatch changes to the other micro-batch; 0 is the middle.
	Split int
}

// A Pass is one forward pass of a model.
type Pass struct {
	Phase    Phase
	Requests int // in all
	Context  int // of them in prefill; a Prefill pass takes 0 as all
	Graph    int // size of the replayed graph if padded, else 0
	Tokens   int // 0 is one a decoding request (times Spec+1) and 1024 a prefill
	Spec     int // drafted tokens a request
	KVLen    int // tokens that each request has in its cache; 0 is 1024
	// Label replaces the label of every family.
	Label string

	Launch             Launch
	Layers             []*Kind // from first to last; see Repeat and Cycle
	Prologue, Epilogue []Kernel
	Strays             []Stray
	// TwoBatch runs two micro-batches whose layers interleave; Truth has two
	// passes for it.
	TwoBatch bool
	// Skip is the number of kernels that were run before the recording
	// began. The layers that they cut are marked.
	Skip   int
	Repeat int // 0 is 1
}

// A Stray is a kernel that runs while a layer does, without being part of it.
type Stray struct {
	Layer  int // runs behind the first half of this layer's kernels
	Kernel Kernel
}

// Vendor chooses names of runtime calls and shape of arguments.
type Vendor int

// The vendors.
const (
	NVIDIA Vendor = iota
	AMD
)

// Launch is how the kernels of a pass get to the GPU.
type Launch int

// The ways to launch.
const (
	Eager     Launch = iota // one call a kernel
	FullGraph               // one graph launch for all kernels that are not Eager
	Piecewise               // one graph launch for each run of kernels that are not Eager
)

// Rows are bits.
type Rows int

// The rows that labels stand on.
const (
	RowCPU Rows = 1 << iota // user_annotation around the launch calls
	RowGPU                  // gpu_user_annotation, once a stream
)

// A Phase is the kind of work of a pass.
type Phase int

// The phases.
const (
	Decode Phase = iota
	Prefill
	Mixed      // Context requests in prefill, the others in decode
	Draft      // a draft model's step
	Verify     // a target model's step over drafted tokens
	Dummy      // no request behind it
	EagerPhase // ATOM's eager_decode
	Capture    // launch calls recorded into a graph: only Eager kernels run
)

var phaseNames = [...]string{"decode", "prefill", "mixed", "draft", "verify", "dummy", "eager", "capture"}

// String gives the name in lower case.
func (p Phase) String() string { return phaseNames[p] }

// Repeat gives n layers of one kind.
func Repeat(k *Kind, n int) []*Kind { return Cycle(n, k) }

// Cycle gives n layers of the kinds in turn.
func Cycle(n int, kinds ...*Kind) []*Kind {
	layers := make([]*Kind, n)
	for i := range layers {
		layers[i] = kinds[i%len(kinds)]
	}
	return layers
}

// generating is the number of requests in decode.
func (p *Pass) generating() int { return p.Requests - p.context() }

func (p *Pass) context() int {
	if p.Phase == Prefill && p.Context == 0 {
		return p.Requests
	}
	return p.Context
}

func (p *Pass) tokens() int {
	if p.Tokens > 0 {
		return p.Tokens
	}
	return p.generating()*(1+p.Spec) + p.context()*1024
}

func (p *Pass) kvLen() int {
	if p.KVLen > 0 {
		return p.KVLen
	}
	return 1024
}

// withDefaults checks s and fills in what was left out.
func (s Spec) withDefaults() (Spec, error) {
	if s.Rows == 0 {
		s.Rows = RowCPU
	}
	if s.Streams == nil {
		s.Streams = []int{7, 23, 31}
		if s.Vendor == AMD {
			s.Streams = []int{3, 5, 9}
		}
	}
	if s.WorldSize == 0 {
		s.WorldSize = 1
	}
	if s.Processes == nil {
		s.Processes = []Process{{PID: 4242}}
	}
	procs := make([]Process, len(s.Processes))
	for i, p := range s.Processes {
		if p.Devices == nil {
			p.Devices = []int{0}
		}
		procs[i] = p
	}
	s.Processes = procs
	return s, s.check()
}

func (s *Spec) check() error {
	if s.Bytes > 0 && len(s.Passes) == 0 {
		return fmt.Errorf("%d bytes wanted, but no pass to fill them", s.Bytes)
	}
	for i := range s.Passes {
		p := &s.Passes[i]
		if p.Phase < 0 || int(p.Phase) >= len(phaseNames) {
			return fmt.Errorf("pass %d: phase %d is unknown", i, p.Phase)
		}
		if p.Context > p.Requests {
			return fmt.Errorf("pass %d: %d of %d requests in prefill", i, p.Context, p.Requests)
		}
		for _, k := range p.kernels() {
			if k.Stream < 0 || k.Stream >= len(s.Streams) {
				return fmt.Errorf("pass %d: kernel %s on stream %d of %d", i, k.Name, k.Stream, len(s.Streams))
			}
		}
		for _, st := range p.Strays {
			if st.Layer < 0 || st.Layer >= len(p.Layers) {
				return fmt.Errorf("pass %d: stray in layer %d of %d", i, st.Layer, len(p.Layers))
			}
		}
	}
	return nil
}

// kernels are all kernels of p, those of a kind once for each of its layers.
func (p *Pass) kernels() []*Kernel {
	var all []*Kernel
	add := func(ks []Kernel) {
		for i := range ks {
			all = append(all, &ks[i])
		}
	}
	add(p.Prologue)
	for _, l := range p.Layers {
		add(l.Kernels)
	}
	add(p.Epilogue)
	for i := range p.Strays {
		all = append(all, &p.Strays[i].Kernel)
	}
	return all
}
