package tracegen

import (
	"fmt"
	"strconv"
)

// A frame is a Python function with what it calls, always in this order.
type frame struct {
	name    string // JSON, or its part before an address
	address bool   // ends in the address of an object
	calls   []int32
	size    int   // frames of a whole call
	time    int64 // of a whole call, about; its own part is what calls leave
}

var frameFiles = [...]string{
	"threading.py", "contextlib.py", "<frozen os>", "<frozen _collections_abc>", "typing.py", "functools.py", "logging/__init__.py",
	"torch/nn/modules/module.py", "torch/_ops.py", "torch/_tensor.py", "torch/cuda/__init__.py", "torch/cuda/streams.py",
	"torch/cuda/graphs.py", "torch/autograd/grad_mode.py", "torch/utils/_contextlib.py", "torch/_dynamo/eval_frame.py",
	"torch/distributed/distributed_c10d.py", "triton/runtime/backends/jit.py", "triton/knobs.py", "triton/runtime/backends/driver.py",
	"triton/backends/compiler.py", "serve/v1/engine/gpu_runner/core.py", "serve/v1/engine/gpu_runner/scheduler.py", "serve/v1/engine/gpu_runner/model_runner.py",
	"serve/v1/engine/gpu_runner/block_manager.py", "serve/v1/engine/gpu_runner/input_batch.py", "serve/v1/engine/gpu_runner/sampler.py", "serve/model_executor/layers/fused/attention.py",
	"serve/model_executor/layers/fused/linear.py", "serve/model_executor/layers/fused/moe.py", "serve/model_executor/layers/fused/norm.py", "serve/model_executor/layers/fused/rotary.py", "serve/model_executor/layers/fused/quant.py",
	"serve/distributed/device_communicators/communicator.py", "serve/distributed/device_communicators/parallel_state.py", "serve/model_executor/models/decoder.py",
	"serve/forward_context.py", "serve/metadata.py", "numpy/core/fromnumeric.py", "zmq/sugar/socket.py",
}

var frameFunctions = [...]string{
	"__call__", "forward", "__enter__", "__exit__", "helper", "_call_impl", "_wrapped_call_impl", "run_with_static_inputs", "get", "__getattr__",
	"__getitem__", "encode_attention_inputs", "<lambda>", "_prepare_model_inputs", "build_attention_metadata", "execute_model", "schedule_running_requests", "allocate_slots_for_request",
	"apply_quantized_weights", "decorate_context", "current_stream", "_get_device_index", "is_current_stream_capturing", "wrapper", "all_reduce", "update_from_scheduler_output",
	"<genexpr>", "specialize_impl", "__torch_function__", "copy_to_gpu_if_needed", "<listcomp>",
}

var builtins = [...]string{
	"<built-in function isinstance>", "<built-in function _disabled_torch_function_impl>", "<built-in function getattr>",
	"<built-in method encode of str object at 0x", "<built-in function len>", "<built-in method get of dict object at 0x",
	"<built-in function hasattr>", "<built-in method data_ptr of Tensor object at 0x",
	"<built-in method  of pybind11_builtins.pybind11_detail_function_record_v1_system_libstdcpp_gxx_abi_1xxx_use_cxx11_abi_1 object at 0x",
	"<built-in function _cuda_getDevice>", "<built-in method stride of Tensor object at 0x", "<built-in function issubclass>",
	"<built-in method items of dict object at 0x", "<built-in method view of Tensor object at 0x",
	"<built-in method append of list object at 0x", "<built-in method acquire of _thread.lock object at 0x",
}

const (
	numFrames = 420
	maxCall   = 400 // frames that one call may lead to
)

// newFrames makes a program: functions that call ones further down the list,
// and built-in functions that call nothing. It is the same for every seed.
func newFrames() []frame {
	r := newRandom(0)
	frames := make([]frame, numFrames+len(builtins))
	for i, b := range builtins {
		frames[numFrames+i] = frame{name: b, address: b[len(b)-1] == 'x', size: 1, time: 60 + 40*int64(i)}
	}
	for i := numFrames - 1; i >= 0; i-- {
		f := &frames[i]
		f.name = fmt.Sprintf("%s(%d): %s", frameFiles[i%len(frameFiles)], 20+i*37%1900, frameFunctions[i*7%len(frameFunctions)])
		f.size, f.time = 1, r.between(300, 4000)
		for range r.between(1, 6) {
			callee := int64(i) + r.between(1, 30)
			if callee >= numFrames || r.below(3) == 0 {
				callee = numFrames + r.below(1+r.below(int64(len(builtins)))) // the first most often
			}
			if c := &frames[callee]; f.size+c.size <= maxCall {
				f.calls = append(f.calls, int32(callee))
				f.size += c.size
				f.time += c.time
			}
		}
	}
	return frames
}

// noise writes what the CPU does beside launching, and moves the process's
// time behind it.
func (g *generator) noise(pr *process, n Noise) {
	pythonEnd, opsEnd := g.out.counts.Python+n.Python, g.out.counts.Ops+n.Ops
	for g.out.counts.Python < pythonEnd || g.out.counts.Ops < opsEnd {
		if g.out.counts.Python < pythonEnd {
			root := int32(g.rand.below(1 + g.rand.below(1+g.rand.below(numFrames))))
			dur := g.cpuTime(g.frames[root].time, g.frames[root].time*5/4)
			g.call(pr, pyCall{f: root, start: pr.cpu, dur: dur}, pythonEnd)
			pr.cpu += dur + g.cpuTime(us, 4*us)
		}
		for range 4 {
			if g.out.counts.Ops < opsEnd {
				g.noiseOp(pr)
			}
		}
	}
}

var noiseOps = [...]string{
	"aten::empty", "aten::slice", "aten::as_strided", "aten::view", "aten::select", "aten::fill_", "aten::to", "aten::arange",
}

func (g *generator) noiseOp(pr *process) {
	pr.ext++
	pr.evIdx++
	dur := g.cpuTime(us/2, 9*us)
	g.out.op(pr.row, noiseOps[g.rand.below(int64(len(noiseOps)))], pr.cpu, dur, pr.ext, pr.evIdx, 32)
	pr.cpu += dur + g.cpuTime(us/5, 3*us)
}

// A pyCall is one event of a Python function.
type pyCall struct {
	f            int32
	parent, site int64 // id of the caller, 0 for none, and where it calls
	start, dur   int64
}

// call writes a call and all calls within it, none once end have been written.
func (g *generator) call(pr *process, c pyCall, end int) {
	pr.python++
	id := pr.python
	f := &g.frames[c.f]
	g.pythonEvent(pr, f, &c, id)
	at, stop := c.start+80, c.start+c.dur-40
	rest := f.time // of what is still to call, with f's own time
	for i, callee := range f.calls {
		if g.out.counts.Python >= end {
			return
		}
		t := g.frames[callee].time
		d := (stop - at) * t / rest / 10 * 10
		d = max(d-d*g.rand.below(100)/1000/10*10, 10)
		g.call(pr, pyCall{f: callee, parent: id, site: int64(c.f) + int64(i), start: at, dur: d}, end)
		at += d + 10*g.rand.below(2)
		rest -= t
	}
}

// pythonEvent writes a python_function event. An object's address is that of
// the calling site, now and then another one.
func (g *generator) pythonEvent(pr *process, f *frame, c *pyCall, id int64) {
	o := &g.out
	pr.evIdx++
	b := append(o.buf, "  {\n    \"ph\": \"X\", \"cat\": \"python_function\", \"name\": \""...)
	b = append(b, f.name...)
	if f.address {
		object := c.site
		if g.rand.below(32) == 0 {
			object = g.rand.below(16)
		}
		b = strconv.AppendInt(b, 0x7f6076f29c00+0x9d30*object, 16)
		b = append(b, '>')
	}
	b = append(b, '"')
	b = append(b, pr.row...)
	b = append(b, ",\n    \"ts\": "...)
	b = appendUS(b, c.start)
	b = append(b, ", \"dur\": "...)
	b = appendUS(b, c.dur)
	b = append(b, ",\n    \"args\": {\n      \"Python parent id\": "...)
	if c.parent == 0 {
		b = append(b, "null"...)
	} else {
		b = strconv.AppendInt(b, c.parent, 10)
	}
	o.buf = b
	o.arg(", ", "Python id", id)
	o.arg(", ", "Ev Idx", pr.evIdx)
	o.buf = append(o.buf, eventEnd...)
	o.counts.Python++
	o.event()
}
