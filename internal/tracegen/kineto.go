package tracegen

import (
	"io"
	"strconv"
)

// out writes events in Kineto's layout and counts them.
type out struct {
	w      io.Writer
	buf    []byte
	err    error
	counts Counts
}

const flushAt = 1 << 16

// event counts the event that was just appended to buf, and flushes when
// enough has come together.
func (o *out) event() {
	o.counts.Events++
	if len(o.buf) >= flushAt {
		o.flush()
	}
}

func (o *out) flush() {
	o.counts.Bytes += int64(len(o.buf))
	if o.err == nil {
		_, o.err = o.w.Write(o.buf)
	}
	o.buf = o.buf[:0]
}

// size is the number of bytes so far.
func (o *out) size() int64 { return o.counts.Bytes + int64(len(o.buf)) }

// appendUS appends nanoseconds as microseconds with three decimals, as Kineto
// prints times.
func appendUS(b []byte, ns int64) []byte {
	b = strconv.AppendInt(b, ns/1000, 10)
	r := byte(ns / 100 % 10)
	return append(b, '.', '0'+r, '0'+byte(ns/10%10), '0'+byte(ns%10))
}

// appendJSON appends s as a JSON string. Unlike encoding/json it leaves <, >
// and & as they are, as Kineto does.
func appendJSON(b []byte, s string) []byte {
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < 0x20:
			b = append(b, `\u00`...)
			b = append(b, "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}

const eventEnd = "\n    }\n  },\n"

// begin opens a complete event on a CPU row, up to the opening of its args.
func (o *out) begin(cat, name string, row []byte, ts, dur int64) {
	b := append(o.buf, "  {\n    \"ph\": \"X\", \"cat\": \""...)
	b = append(b, cat...)
	b = append(b, "\", \"name\": "...)
	b = appendJSON(b, name)
	b = append(b, row...)
	b = append(b, ",\n    \"ts\": "...)
	b = appendUS(b, ts)
	b = append(b, ", \"dur\": "...)
	b = appendUS(b, dur)
	o.buf = append(b, ",\n    \"args\": {\n      "...)
}

// end closes an event that begin opened.
func (o *out) end() {
	o.buf = append(o.buf, eventEnd...)
	o.event()
}

// arg appends `"key": n`, behind sep.
func (o *out) arg(sep, key string, n int64) {
	b := append(o.buf, sep...)
	b = append(b, '"')
	b = append(b, key...)
	b = append(b, "\": "...)
	o.buf = strconv.AppendInt(b, n, 10)
}

func (o *out) label(row []byte, name string, ts, dur, ext, evIdx int64) {
	o.begin("user_annotation", name, row, ts, dur)
	o.arg("", "External id", ext)
	o.arg(",", "Record function id", 0)
	o.arg(", ", "Ev Idx", evIdx)
	o.end()
	o.counts.Labels++
}

func (o *out) gpuLabel(row []byte, name string, ts, dur, ext int64) {
	o.begin("gpu_user_annotation", name, row, ts, dur)
	o.arg("", "External id", ext)
	o.end()
	o.counts.GPULabels++
}

// op writes a cpu_op. The shapes are those of a product of two matrices.
func (o *out) op(row []byte, name string, ts, dur, ext, evIdx, rows int64) {
	o.begin("cpu_op", name, row, ts, dur)
	o.arg("", "External id", ext)
	o.buf = append(o.buf, `,"Record function id": 0, "Concrete Inputs": ["", ""], "Input type": ["c10::BFloat16", "c10::BFloat16"], "Input Strides": [[4096, 1], [1, 4096]], "Input Dims": [[`...)
	o.buf = strconv.AppendInt(o.buf, rows, 10)
	o.buf = append(o.buf, `, 4096], [4096, 4096]]`...)
	o.arg(", ", "Ev Idx", evIdx)
	o.end()
	o.counts.Ops++
}

// flow writes one end of an arrow from a launch call ("s") to what it
// launched ("f").
func (o *out) flow(ph string, id int64, row []byte, ts int64) {
	b := append(o.buf, "  {\n    \"ph\": \""...)
	b = append(b, ph...)
	b = append(b, "\", \"id\": "...)
	b = strconv.AppendInt(b, id, 10)
	b = append(b, row...)
	b = append(b, ", \"ts\": "...)
	b = appendUS(b, ts)
	b = append(b, ",\n    \"cat\": \"ac2g\", \"name\": \"ac2g\""...)
	if ph == "f" {
		b = append(b, ", \"bp\": \"e\""...)
	}
	o.buf = append(b, "\n  },\n"...)
	o.event()
}

// meta writes a metadata event with one argument, already in JSON.
func (o *out) meta(name string, row []byte, ts int64, key string, value []byte) {
	b := append(o.buf, "  {\n    \"name\": \""...)
	b = append(b, name...)
	b = append(b, "\", \"ph\": \"M\", \"ts\": "...)
	b = appendUS(b, ts)
	b = append(b, row...)
	b = append(b, ",\n    \"args\": {\n      \""...)
	b = append(b, key...)
	b = append(b, "\": "...)
	b = append(b, value...)
	o.buf = append(b, eventEnd...)
	o.event()
}

// row gives `, "pid": .., "tid": ..`, with the pid as a string when the
// process has a prefix.
func row(p *Process, pid, tid int) []byte {
	b := append([]byte(nil), `, "pid": `...)
	b = append(b, pidJSON(p, pid)...)
	b = append(b, `, "tid": `...)
	return strconv.AppendInt(b, int64(tid), 10)
}

func pidJSON(p *Process, pid int) []byte {
	if p.Prefix == "" {
		return strconv.AppendInt(nil, int64(pid), 10)
	}
	return appendJSON(nil, p.Prefix+" "+strconv.Itoa(pid))
}
