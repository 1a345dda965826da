package tracegen

import (
	"fmt"
	"strconv"
)

// baseTime is the wall time, in nanoseconds, that every ts is relative to.
const baseTime = "1767225600000000000"

var devices = [...]struct{ props, runtime string }{
	NVIDIA: {
		props: `"name": "NVIDIA H200", "totalGlobalMem": 150021734400,
      "computeMajor": 9, "computeMinor": 0,
      "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": 2048,
      "regsPerBlock": 65536, "warpSize": 32,
      "sharedMemPerBlock": 49152, "numSms": 132
    , "regsPerMultiprocessor": 65536, "sharedMemPerBlockOptin": 232448, "sharedMemPerMultiprocessor": 233472`,
		runtime: `
      "cuda_driver_version": 13000,
      "cuda_runtime_version": 12080,
      "cupti_version": 26,`,
	},
	AMD: {
		props: `"name": "AMD Instinct MI355X", "totalGlobalMem": 309220868096,
      "computeMajor": 9, "computeMinor": 5,
      "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": 2048,
      "regsPerBlock": 131072, "warpSize": 64,
      "sharedMemPerBlock": 163840, "numSms": 256
    , "maxSharedMemoryPerMultiProcessor": 163840`,
		runtime: `
      "roctracer_version": 4.1,
      "hip_runtime_version": 70253211,
      "hip_driver_version": 70253211,`,
	},
}

// header writes everything before the first event.
func (g *generator) header() {
	s := &g.spec
	b := append(g.out.buf, "\n  {\n    \"schemaVersion\": 1,\n    \"deviceProperties\": ["...)
	last := 0
	for _, ln := range g.lanes {
		last = max(last, ln.device)
	}
	for id := range last + 1 {
		if id > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, "\n    {\n      \"id\": %d, %s\n    }", id, devices[s.Vendor].props)
	}
	b = append(b, "\n    ],"...)
	b = append(b, devices[s.Vendor].runtime...)
	b = fmt.Appendf(b, `
      "with_stack": 1,
      "record_shapes": 1,
      "distributedInfo": {"backend": "nccl", "rank": %d, "world_size": %d, "pg_count": 1, "pg_config": [{"pg_name": "0", "pg_desc": "default_pg", "backend_config": "cuda:nccl", "pg_size": %[2]d}]},
      "trace_id": "%016X%016X",
  "displayTimeUnit": "ms",
  "baseTimeNanoseconds": %s,
  "traceEvents": [
`, s.Rank, s.WorldSize, s.Seed, s.Seed*golden, baseTime)
	g.out.buf = b
}

// trailer writes names of rows and the events that close a recording.
func (g *generator) trailer() {
	for _, pr := range g.procs {
		g.nameProcess(pr)
	}
	for _, ln := range g.lanes {
		for i, used := range ln.used {
			if used {
				n := g.spec.Streams[i]
				g.nameThread(ln.rows[i], fmt.Sprintf(`"stream %d "`, n), n)
			}
		}
	}
	for _, pr := range g.procs {
		g.nameThread(pr.row, fmt.Sprintf(`"thread %d (python3)"`, pr.PID), pr.PID)
	}
	g.window()
	g.out.flush()
}

// window writes the events that say from when to when was recorded, the last
// ones of a file, and everything behind them.
func (g *generator) window() {
	o, start, end := &g.out, g.start, g.end()
	b := append(o.buf, "  {\n    \"ph\": \"X\", \"cat\": \"Trace\", \"ts\": "...)
	b = appendUS(b, start)
	b = append(b, ", \"dur\": "...)
	b = appendUS(b, end-start)
	b = append(b, ",\n    \"pid\": \"Spans\", \"tid\": \"PyTorch Profiler\",\n    \"name\": \"PyTorch Profiler (0)\",\n    \"args\": {\n      \"Op count\": 0"...)
	o.buf = append(b, eventEnd...)
	o.event()
	o.meta("process_sort_index", []byte(", \"pid\": \"Spans\", \"tid\": 0"), start, "sort_index", []byte("536870912"))
	b = append(o.buf, "  {\n    \"name\": \"Iteration Start: PyTorch Profiler\", \"ph\": \"i\", \"s\": \"g\",\n    \"pid\": \"Traces\", \"tid\": \"Trace PyTorch Profiler\", \"ts\": "...)
	b = appendUS(b, start)
	b = append(b, "\n  },\n  {\n    \"name\": \"Record Window End\", \"ph\": \"i\", \"s\": \"g\",\n    \"pid\": \"\", \"tid\": \"\", \"ts\": "...)
	b = appendUS(b, end)
	b = fmt.Appendf(b, "\n  }\n  ],\n  \"traceName\": \"./rank_%d.pt.trace.json\"\n}", g.spec.Rank)
	o.buf = b
	o.counts.Events += 2
}

func (g *generator) nameProcess(pr *process) {
	name := func(pid int, labels string, sortIndex int) {
		r := row(&pr.Process, pid, 0)
		g.out.meta("process_name", r, g.start, "name", []byte(`"python3"`))
		g.out.meta("process_labels", r, g.start, "labels", appendJSON(nil, labels))
		g.out.meta("process_sort_index", r, g.start, "sort_index", strconv.AppendInt(nil, int64(sortIndex), 10))
	}
	name(pr.PID, "CPU", pr.PID)
	for _, d := range pr.Devices {
		name(d, "GPU "+strconv.Itoa(d), 5000000+d)
	}
}

func (g *generator) nameThread(row []byte, name string, sortIndex int) {
	g.out.meta("thread_name", row, g.start, "name", []byte(name))
	g.out.meta("thread_sort_index", row, g.start, "sort_index", strconv.AppendInt(nil, int64(sortIndex), 10))
}
