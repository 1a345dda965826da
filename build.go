package tracelayer

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/tracelayer/tracelayer/internal/chrometrace"
)

// A category is what a trace's "cat" means to the library.
type category uint8

const (
	catOther category = iota
	catKernel
	catCopy
	catLabel
	catGPULabel
	catRuntime
)

// categories has the known categories in lower case: Kineto wrote "Kernel" and
// "Memcpy" until 2021 and "kernel" and "gpu_memcpy" since.
var categories = map[string]category{
	"kernel":              catKernel,
	"gpu_memcpy":          catCopy,
	"gpu_memset":          catCopy,
	"memcpy":              catCopy,
	"memset":              catCopy,
	"user_annotation":     catLabel,
	"gpu_user_annotation": catGPULabel,
	"cuda_runtime":        catRuntime,
	"cuda_driver":         catRuntime,
	"hip_runtime":         catRuntime,
	"hip_driver":          catRuntime,
	"runtime":             catRuntime,
	"driver":              catRuntime,
}

// The args that are read, in the order of argKeys.
const (
	argDevice = iota
	argStream
	argCorrelation
	argExternalID
)

var argKeys = []string{"device", "stream", "correlation", "External id"}

// A builder makes a Trace of events. Kernels go into chunks, so that growing
// never copies them and a file of any number needs no guess.
type builder struct {
	t            Trace
	end          ending
	kernels      chunks[Kernel]
	correlations chunks[int64]
	copies       chunks[Kernel]
	launches     chunks[Launch]
	names        map[string]NameID
	lanes        map[string]LaneID
	threads      map[string]ThreadID
	labels       map[string]string // interned label texts
	cats         map[string]category
	lastCat      []byte // the spelling of the last event's category
	last         category
	lastLane     []byte // the key of the last kernel's lane
	lane         LaneID
	key          []byte
	open         map[string][]begin // B events that wait for their E, by thread
	hasOrigin    bool
	warn         warnings
}

func newBuilder(name string) *builder {
	return &builder{
		t:     Trace{Name: name},
		names: map[string]NameID{}, lanes: map[string]LaneID{}, threads: map[string]ThreadID{},
		labels: map[string]string{}, cats: map[string]category{}, open: map[string][]begin{},
	}
}

func (b *builder) options() chrometrace.Options {
	return chrometrace.Options{
		ArgKeys:    argKeys,
		WantArgs:   func(cat []byte) bool { return b.category(cat) != catOther },
		WantHeader: wantHeader,
	}
}

// category looks a spelling up once and remembers it; neighbours mostly share one.
func (b *builder) category(text []byte) category {
	if bytes.Equal(text, b.lastCat) {
		return b.last
	}
	c, ok := b.cats[string(text)]
	if !ok {
		c = categories[strings.ToLower(string(text))]
		b.cats[string(text)] = c
	}
	b.lastCat = append(b.lastCat[:0], text...)
	b.last = c
	return c
}

// add takes one event. It never fails.
func (b *builder) add(e *chrometrace.Event) error {
	ph := byte(0)
	if len(e.Phase.Text) == 1 {
		ph = e.Phase.Text[0]
	}
	start, hasStart := chrometrace.Micros(e.TS.Text)
	if e.TS.Kind == '"' {
		b.warn.quotedTime.add(e)
	}
	if hasStart && makesRow(ph, e) && (!b.hasOrigin || Time(start) < b.t.Origin) {
		b.t.Origin, b.hasOrigin = Time(start), true
	}
	switch ph {
	case 'X':
		b.t.Counts.Complete++
		b.slice(e, Time(start), hasStart, false)
	case 'B':
		b.slice(e, Time(start), hasStart, true)
	case 'E':
		b.endSlice(e, Time(start), hasStart)
	}
	return nil
}

// makesRow reports whether Perfetto's JSON importer makes a slice or a counter
// of an event (json_trace_parser_impl.cc: not of metadata, flows or an X
// without a duration); the smallest of their times is the zero of its axis.
func makesRow(ph byte, e *chrometrace.Event) bool {
	switch ph {
	case 'X':
		_, ok := chrometrace.Micros(e.Dur.Text)
		return ok
	case 'B', 'i', 'I', 'R', 'b', 'n':
		return true
	case 'C':
		return e.ArgsKind == '{'
	}
	return false
}

// slice takes an X event, or the B event that opens one.
func (b *builder) slice(e *chrometrace.Event, start Time, hasStart, opens bool) {
	cat := b.category(e.Category.Text)
	ref := begin{cat: cat, start: start, index: -1}
	dur := NoDur
	if !opens && cat != catOther {
		dur = b.duration(e, cat, start)
	}
	switch cat {
	case catKernel:
		ref.index = b.kernel(e, start, dur, hasStart)
	case catCopy:
		ref.index = b.copy(e, start, dur, hasStart)
	case catLabel, catGPULabel:
		ref.index = b.label(e, cat, start, dur, hasStart)
	case catRuntime:
		b.launch(e, start)
	}
	if opens {
		b.key = threadKey(b.key[:0], e)
		ref.event = e.Index
		b.open[string(b.key)] = append(b.open[string(b.key)], ref)
	}
}

// duration reads dur and warns of a kernel's or copy's that cannot be used.
func (b *builder) duration(e *chrometrace.Event, cat category, start Time) time.Duration {
	ns, ok := chrometrace.Micros(e.Dur.Text)
	var why *tally
	switch {
	case e.Dur.Kind == 0:
		why = &b.warn.noDur
	case e.Dur.Kind == 'n':
		why = &b.warn.nullDur
	case !ok && chrometrace.NonFinite(e.Dur.Text):
		why = &b.warn.nonFiniteDur
	case !ok:
		why = &b.warn.badDur
	case ns < 0:
		why = &b.warn.negativeDur
	case time.Duration(ns) > MaxDur:
		why = &b.warn.longDur
	default:
		return time.Duration(ns)
	}
	if cat == catKernel || cat == catCopy {
		why.add(e)
	}
	return NoDur
}

// kernel keeps a kernel and returns its index, or -1 if it has no place in time.
func (b *builder) kernel(e *chrometrace.Event, start Time, dur time.Duration, hasStart bool) int {
	b.t.Counts.Kernels++
	if !b.placed(e, start, dur, hasStart) {
		return -1
	}
	id := NoCorrelation
	if v, ok := integer(e.Args[argCorrelation]); ok {
		id = v
	}
	b.correlations.push(id)
	return b.kernels.push(Kernel{start, dur, b.name(e), b.laneOf(e)})
}

func (b *builder) copy(e *chrometrace.Event, start Time, dur time.Duration, hasStart bool) int {
	b.t.Counts.Copies++
	if !b.placed(e, start, dur, hasStart) {
		return -1
	}
	return b.copies.push(Kernel{start, dur, b.name(e), b.laneOf(e)})
}

// placed reports whether a kernel has a usable start. Kineto writes ts 0 and
// dur 0 for kernels whose timing was not collected (pytorch/kineto issue 109).
func (b *builder) placed(e *chrometrace.Event, start Time, dur time.Duration, hasStart bool) bool {
	switch {
	case !hasStart:
		b.warn.noStart.add(e)
	case start == 0 && dur == 0:
		b.warn.noTiming.add(e)
	default:
		return true
	}
	b.t.Counts.Unplaced++
	return false
}

// name interns the event's name.
func (b *builder) name(e *chrometrace.Event) NameID {
	id, ok := b.names[string(e.Name.Text)]
	if !ok {
		id = NameID(len(b.t.Names))
		s := string(e.Name.Text)
		b.names[s] = id
		b.t.Names = append(b.t.Names, s)
	}
	return id
}

// laneOf interns the event's lane. Device and stream come from the args, else
// from pid and tid.
func (b *builder) laneOf(e *chrometrace.Event) LaneID {
	device, stream := e.Args[argDevice], e.Args[argStream]
	k := append(b.key[:0], e.PID.Text...)
	k = append(append(k, 0, device.Kind), device.Text...)
	k = append(append(k, 0, stream.Kind), stream.Text...)
	if stream.Kind != '0' && stream.Kind != '"' {
		k = append(append(k, 0), e.TID.Text...)
	}
	b.key = k
	if bytes.Equal(k, b.lastLane) {
		return b.lane
	}
	id, ok := b.lanes[string(k)]
	if !ok {
		id = b.addLane(Lane{string(e.PID.Text), textOr(device, e.PID), strings.TrimPrefix(textOr(stream, e.TID), "stream ")})
		b.lanes[string(k)] = id
	}
	b.lastLane = append(b.lastLane[:0], k...)
	b.lane = id
	return id
}

// addLane returns the id of a lane, which may have been met in another spelling.
func (b *builder) addLane(l Lane) LaneID {
	if i := slices.Index(b.t.Lanes, l); i >= 0 {
		return LaneID(i)
	}
	b.t.Lanes = append(b.t.Lanes, l)
	return LaneID(len(b.t.Lanes) - 1)
}

// textOr is what a string or number says, or what or says.
func textOr(v, or chrometrace.Value) string {
	if v.Kind == '"' || v.Kind == '0' {
		return string(v.Text)
	}
	return string(or.Text)
}

func (b *builder) label(e *chrometrace.Event, cat category, start Time, dur time.Duration, hasStart bool) int {
	b.t.Counts.Labels++
	if !hasStart {
		return -1
	}
	external := int64(-1)
	if v, ok := integer(e.Args[argExternalID]); ok {
		external = v
	}
	b.t.Annotations = append(b.t.Annotations, Annotation{
		Name: b.text(e.Name.Text), Start: start, Dur: dur,
		PID: b.text(e.PID.Text), TID: b.text(e.TID.Text),
		GPU: cat == catGPULabel, ExternalID: external,
	})
	return len(b.t.Annotations) - 1
}

// text interns a label's text.
func (b *builder) text(p []byte) string {
	s, ok := b.labels[string(p)]
	if !ok {
		s = string(p)
		b.labels[s] = s
	}
	return s
}

// launch keeps a runtime call that launches kernels (cudaLaunchKernel,
// cuLaunchKernelEx, hipModuleLaunchKernel, hipGraphLaunch, ...).
func (b *builder) launch(e *chrometrace.Event, start Time) {
	if !bytes.Contains(e.Name.Text, []byte("Launch")) {
		return
	}
	b.t.Counts.Launches++
	id := NoCorrelation
	if v, ok := integer(e.Args[argCorrelation]); ok {
		id = v
	}
	b.launches.push(Launch{id, start, b.thread(e), bytes.Contains(e.Name.Text, []byte("GraphLaunch"))})
}

func (b *builder) thread(e *chrometrace.Event) ThreadID {
	b.key = threadKey(b.key[:0], e)
	id, ok := b.threads[string(b.key)]
	if !ok {
		id = ThreadID(len(b.t.Threads))
		b.threads[string(b.key)] = id
		b.t.Threads = append(b.t.Threads, Thread{string(e.PID.Text), string(e.TID.Text)})
	}
	return id
}

func threadKey(dst []byte, e *chrometrace.Event) []byte {
	return append(append(append(dst, e.PID.Text...), 0), e.TID.Text...)
}

// integer is a whole number, written as a number or as a string.
func integer(v chrometrace.Value) (int64, bool) {
	if v.Kind != '0' && v.Kind != '"' {
		return 0, false
	}
	return chrometrace.Integer(v.Text)
}

// A begin is a B event that waits for its E.
type begin struct {
	cat   category
	index int // in the builder's store for cat, -1 where nothing is kept
	start Time
	event int64
}

// endSlice gives the innermost open slice of the thread its duration.
func (b *builder) endSlice(e *chrometrace.Event, end Time, ok bool) {
	b.key = threadKey(b.key[:0], e)
	stack := b.open[string(b.key)]
	if len(stack) == 0 {
		b.warn.strayEnd.add(e)
		return
	}
	top := stack[len(stack)-1]
	b.open[string(b.key)] = stack[:len(stack)-1]
	dur := time.Duration(end - top.start)
	if !ok || dur < 0 || dur > MaxDur || top.index < 0 {
		return // what stays open is counted at the end
	}
	switch top.cat {
	case catKernel:
		b.kernels.at(top.index).Dur = dur
	case catCopy:
		b.copies.at(top.index).Dur = dur
	case catLabel, catGPULabel:
		b.t.Annotations[top.index].Dur = dur
	}
}

// trace finishes the trace. cut is the error of an input that ends early and
// was accepted, or nil.
func (b *builder) trace(cut error) (*Trace, error) {
	t := &b.t
	st := b.end.stats
	t.Counts.Bytes, t.Counts.Events, t.Counts.Ignored = st.Bytes, st.Events, st.Ignored
	t.Base, t.Metadata = metadata(b.end.header, &b.warn)
	t.Launches = b.launches.join()
	b.sortKernels()
	slices.SortStableFunc(t.Annotations, func(x, y Annotation) int { return cmp.Compare(x.Start, y.Start) })
	for _, stack := range b.open {
		for _, s := range stack {
			if s.cat == catKernel || s.cat == catCopy {
				b.warn.unfinished.addAt(s.event)
			}
		}
	}
	t.Warnings = b.warn.list(st, t, cut)
	return t, nil
}

// sortKernels puts kernels and their correlation ids, and copies, in order of
// start. Equal starts keep the file's order.
func (b *builder) sortKernels() {
	t := &b.t
	t.Kernels, t.Correlations, t.Copies = b.kernels.join(), b.correlations.join(), b.copies.join()
	if order := timeOrder(t.Kernels); order != nil {
		permute(t.Kernels, order)
		permute(t.Correlations, order)
	}
	if order := timeOrder(t.Copies); order != nil {
		permute(t.Copies, order)
	}
}

// timeOrder is the order in which ks would be sorted by start, ties as they
// stand, or nil if that is the order they are in.
func timeOrder(ks []Kernel) []int32 {
	byStart := func(a, b Kernel) int { return cmp.Compare(a.Start, b.Start) }
	if slices.IsSortedFunc(ks, byStart) {
		return nil
	}
	type key struct {
		start Time
		index int32
	}
	keys := make([]key, len(ks))
	for i, k := range ks {
		keys[i] = key{k.Start, int32(i)}
	}
	slices.SortFunc(keys, func(a, b key) int {
		if a.start != b.start {
			return cmp.Compare(a.start, b.start)
		}
		return int(a.index - b.index)
	})
	order := make([]int32, len(ks))
	for i, k := range keys {
		order[i] = k.index
	}
	return order
}

// permute moves s[order[i]] to s[i] for all i, in place: a sorted copy would
// double the memory of the largest thing there is.
func permute[T any](s []T, order []int32) {
	for i := range order {
		if order[i] < 0 {
			continue // moved as part of an earlier cycle
		}
		first, j := s[i], i
		for {
			k := int(order[j])
			order[j] = ^order[j]
			if k == i {
				break
			}
			s[j] = s[k]
			j = k
		}
		s[j] = first
	}
	for i := range order {
		order[i] = ^order[i]
	}
}

// chunkLen elements make a chunk: 384 KiB of kernels.
const chunkLen = 1 << 14

// chunks is a list that grows without copying.
type chunks[T any] struct {
	full [][]T
	tail []T
}

// push appends v and returns its index.
func (c *chunks[T]) push(v T) int {
	if len(c.tail) == cap(c.tail) {
		if c.tail != nil {
			c.full = append(c.full, c.tail)
		}
		c.tail = make([]T, 0, chunkLen)
	}
	c.tail = append(c.tail, v)
	return len(c.full)*chunkLen + len(c.tail) - 1
}

func (c *chunks[T]) at(i int) *T {
	if i/chunkLen == len(c.full) {
		return &c.tail[i%chunkLen]
	}
	return &c.full[i/chunkLen][i%chunkLen]
}

func (c *chunks[T]) len() int { return len(c.full)*chunkLen + len(c.tail) }

// join empties the chunks into one slice, nil if there is nothing. Each chunk
// is let go as soon as it is copied.
func (c *chunks[T]) join() []T {
	if c.len() == 0 {
		return nil
	}
	all := make([]T, 0, c.len())
	for i, chunk := range c.full {
		all = append(all, chunk...)
		c.full[i] = nil
	}
	all = append(all, c.tail...)
	*c = chunks[T]{}
	return all
}
