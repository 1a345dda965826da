// Package tracelayer reads the traces that torch.profiler writes of an LLM
// server and tells where a transformer layer spends its time: which GPU
// kernels, in which order, how long each takes and how much that varies.
//
// # The pipeline
//
// Four calls make the pipeline. Segment and DetectDecodeBS take the Trace,
// Summarize takes the Segments:
//
//	t, err := tracelayer.Load("rank0.json.gz", nil)
//	bs, err := tracelayer.DetectDecodeBS(t)
//	s, err := tracelayer.Segment(t, tracelayer.AnchorProfile("pa_bf16"), nil)
//	sum, err := tracelayer.Summarize(s, nil)
//
// Step by step:
//
//  1. [Load] streams the file once and keeps what the analysis needs: kernels,
//     copies, step labels, launch calls and the file's own metadata, in a
//     [Trace].
//  2. [DetectDecodeBS] and [Steps] read the step labels of ATOM, vLLM, SGLang
//     and TensorRT-LLM: which batch sizes were decoded, and how often.
//  3. [Segment] cuts the kernels of one GPU into passes and those into a
//     prologue, whole layers and an epilogue. An anchor is a kernel that occurs
//     once in each layer, such as the attention kernel; a [Profile] says which.
//     A [PassFilter] chooses passes by phase, size or number.
//  4. [Summarize] computes the statistics of each position of each kind of
//     layer, and where the time of the passes goes.
//
// [Attribute] says which step each kernel belongs to, and a [Meter] measures
// busy, idle and communication time of any kernels. [Classify] says what a
// kernel does, as far as its name tells, by the rules of a [Profile] of the set
// [Profiles] and those for every model. [ProfileSet.Infer] chooses the profile for
// a [Config], and [Profile.LayerTypes] says what each layer is. [Segments.All]
// yields each kernel with its layer, for analyses of one's own. [Events] yields
// every event of a file, for what the Trace does not keep.
//
// # Right or refused
//
// A result without a warning is meant to be true. What is odd in the bytes but
// can be read is counted in [Trace.Warnings]. What rests on a guess says so
// (Segments.Tie, Segments.Evidence, Segments.Alike, Step.ByOrder,
// Position.Purity). What does not fit is
// refused with a typed error that holds the numbers: a [SyntaxError] for a
// damaged file, a [ProfileError] or a [ConfigError] for data that is not what it
// must be, a [SegmentError] for a trace that cannot be cut. Branch with errors.Is on the sentinels
// ([ErrNoKernels], [ErrMixed], [ErrNoAnchor], [ErrNoLayers], [ErrRemainder],
// [ErrInterleaved], [ErrNoDecode], [ErrTruncated], [ErrTooLarge]).
//
// # Time
//
// Times are whole nanoseconds, read from the decimal text of the file without
// any float: an absolute time in microseconds has more digits than a float64
// holds. Digits beyond the nanosecond round to the nearest, half away from zero.
// A [Time] counts from [Trace.Base]; the Perfetto UI counts from
// [Trace.Origin].
//
// # Ownership
//
// Every value is complete when it is returned and never changes afterwards, so
// goroutines may share it. Segments and Summary share memory with the trace.
package tracelayer
