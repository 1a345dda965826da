// Package chrometrace reads files in the Chrome trace event format as a stream
// of events. It knows the format, not what the events mean: which categories
// and which args matter is the caller's choice.
//
// A [Reader] makes one pass. It looks at every key of every event, because
// keys may come in any order and the last of equal keys wins, but it decodes
// only the fields of [Event] and steps over all else without looking at more
// than quotes, brackets and bytes that should not be there. No layout is
// special: Kineto's one event between lines of two-space indent, compact JSON
// and pretty-printed JSON take the same path. Memory is one buffer, which
// grows only when a single value that must be held whole does not fit.
//
// The format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
// and, for what torch.profiler writes, pytorch/kineto libkineto/src/output_json.cpp.
package chrometrace
