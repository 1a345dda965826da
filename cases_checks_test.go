package tracelayer

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// errorKinds are the kinds of errors and the sentinels that they are here.
var errorKinds = map[string]error{
	"truncated input (unexpected end of file)": ErrTruncated,
	"no GPU kernels":                       ErrNoKernels,
	"ambiguous device":                     ErrMixed,
	"ambiguous rank/process":               ErrMixed,
	"anchor count not divisible by layers": ErrRemainder,
	"unsupported compression":              nil, // none is met: zstd is supported
}

// A condition is that of an error's only_if.
type condition struct {
	args   []string // make it hold for the command
	sel    SegmentOptions
	never  bool       // it does not hold here: the input has to load
	lifted [][]string // with each of these arguments it does not hold, and the command has to succeed
}

var conditions = map[string]condition{
	"":                      {},
	"no --device given":     {lifted: [][]string{{"--device", "2"}, {"--device", "3"}}},
	"no --pid given":        {lifted: [][]string{{"--pid", "[TP00-DP00-PP00-EP00] 0"}, {"--pid", "[TP01-DP00-PP00-EP00] 0"}}},
	"zstd is not supported": {never: true},
	"--num-layers 4 is asked for and draft anchors are not separated": {
		args: []string{"--num-layers", "4"}, sel: SegmentOptions{NumLayers: 4}, lifted: [][]string{{}}},
}

// mentions are the texts to find where must_mention describes rather than
// quotes: all of them, and of those with a bar between them one.
var mentions = map[string][]string{
	"unexpected end / truncated":                   {"unexpected end|truncated"},
	"profiler warm-up / start later or run longer": {"profiler", "warm-up", "start later or run longer"},
	"2": {"device 2"},
	"3": {"device 3"},
}

// checkError checks the error of an expect file, in the library and the command.
func (c *caseInput) checkError() error {
	want := c.expect.Error
	cond, known := conditions[want.OnlyIf]
	kind, knownKind := errorKinds[want.Kind]
	switch {
	case !known || !knownKind:
		return fmt.Errorf("unknown only_if %q or kind %q", want.OnlyIf, want.Kind)
	case want.File != "" && want.File != c.base():
		return nil
	case cond.never:
		return c.loadErr
	}
	_, err := c.with(cond.sel, c.expect.Expected).segment()
	if err == nil || !errors.Is(err, kind) {
		return fmt.Errorf("error %v, want %v", err, kind)
	}
	if err := c.checkMentions(err, want.MustMention, cond.args); err != nil {
		return err
	}
	if want.ExitNonzero {
		if err := c.refused(cond.args...); err != nil {
			return err
		}
	}
	for _, args := range cond.lifted {
		if _, err := c.succeeds(args...); err != nil {
			return err
		}
	}
	return nil
}

// checkMentions checks what the library's error and the command's stderr say.
func (c *caseInput) checkMentions(refusal error, what, args []string) error {
	o, err := c.command(args...)
	for _, m := range what {
		if err == nil && (!c.mentioned(refusal.Error(), m) || !c.mentioned(o.stderr, m)) {
			return fmt.Errorf("%q is not mentioned in the error %q or on stderr:\n%s", m, refusal, o.stderr)
		}
	}
	return err
}

// mentioned reports whether a text says what must_mention describes.
func (c *caseInput) mentioned(text, what string) bool {
	parts, ok := mentions[what]
	switch {
	case what == "file name":
		parts = []string{c.base()}
	case !ok:
		parts = []string{what}
	}
	return !slices.ContainsFunc(parts, func(part string) bool {
		return !slices.ContainsFunc(strings.Split(part, "|"), func(p string) bool { return strings.Contains(text, p) })
	})
}

// A guard checks that an input does not go wrong in some way.
type guard func(c *caseInput) error

// mustNotChecks are the sentences of must_not.
var mustNotChecks = map[string]guard{
	// 01
	"stop at the first bad byte":               implied("kernel_events", "anchor_gaps"),
	"drop the kernel whose name is bad":        implied("kernel_events", "bad_kernel_name_shown_as"),
	"write invalid UTF-8 into CSV/JSON output": writesUTF8,

	// 02
	"refuse a multi-gigabyte trace for one byte in a CPU frame's name": writesAlignedCSV,

	// 04
	"let NaN reach a sum, an average or the JSON export": all(implied("sum_kernel_us", "kernels_with_usable_duration"), writesNoNaN),
	"fail on a value in args nobody reads":               implied("kernel_events", "memcpy_events"),

	// 05
	"write a CSV and exit 0": refuses(),
	"say only 'EOF'":         saysWhere,
	"panic":                  refusesEveryCut,

	// 06
	"count the {} as a kernel": implied("kernel_events", "ignored_events"),
	"treat 06a like a truncated file: it ends between events, not inside one": all(notTruncated, warnsOfOpenList),

	// 07
	"index a list as though it were an object":                        implied("events"),
	"count 's'/'f' flow events":                                       implied("events", "complete_events"),
	"take 'CUDA functions' rows for kernels: they are operator names": implied("kernel_events"),

	// 09
	"invalid character at offset 0": all(implied("kernel_events"), neverSays("invalid character")),

	// 10
	"stop after member one":   implied("kernel_events", "gzip_members"),
	"report a truncated file": all(notTruncated, neverSays("truncated", "unexpected end")),

	// 11
	"choose the decoder from the file name":          readsUnderAnyName,
	"say 'invalid character' about compressed bytes": neverSays("invalid character"),

	// 13
	"go through float64 for ts":                                  implied("start_ns_absolute", "gap_ns"),
	"show negative or zero gaps where 1 ns and 2 ns are written": implied("gap_ns"),
	"add baseTimeNanoseconds twice or treat it as microseconds":  implied("start_ns_absolute", "both_files_same_gaps_and_durations"),

	// 15
	"drop events whose ts is a string":                implied("kernel_events", "first_start_ns", "sum_us"),
	"make a second stream out of 'stream 7' beside 7": all(implied("streams"), hasLanes("7", 1)),
	"panic on args that is not an object":             implied("kernel_events", "devices"),

	// 17
	"let the ts-0 kernel set the start of the trace": implied("first_kernel_start_us", "wall_us"),
	"sum a negative duration":                        implied("sum_us"),
	"hide that five kernels were left out":           all(implied("unusable"), saysLeftOut(5)),

	// 18
	"count cuda_runtime events whose name contains 'Kernel'": implied("kernel_events", "launch_calls"),
	"divide by zero":                refuses(),
	"write an empty CSV and exit 0": refuses(),

	// 20
	"assume device 0":                      all(implied("devices", "per_device"), selects(SegmentOptions{Device: "0"}, ErrNoKernels), refuses("--device", "0")),
	"key a stream by its number alone":     all(implied("per_device"), hasLanes("7", 2), selects(SegmentOptions{Stream: "7"}, ErrMixed)),
	"analyse both devices as one sequence": all(implied("mixed_if_not_separated"), refuses()),

	// 21
	"trust --device alone: both ranks say device 0": all(selects(SegmentOptions{Device: "0"}, ErrMixed), refuses("--device", "0")),
	"parse pid as an int and drop the event":        implied("gpu_pids", "kernel_events_all", "per_pid"),

	// 22
	"match cat with case":                            implied("kernel_events", "copy_and_set_events", "anchor_gaps"),
	"decide 'is it GPU' from args.stream":            all(implied("kernel_events"), hasName("triton_host_wrapper", false)),
	"count Stream Sync or an annotation as a kernel": implied("sync_events", "annotations_gpu", "gpu_busy_excludes"),
	"need grid/block on every kernel":                all(implied("kernel_events"), hasName("__amd_rocclr_copyBuffer.kd", true)),

	// 23
	"use correlation as a unique key (keeps 1 of 24)": implied("kernel_events", "anchor_gaps"),
	"drop kernels without a CPU launch":               implied("kernel_events", "kernels_without_correlation", "kernels_with_correlation_zero"),
	"expect one launch per kernel":                    implied("kernel_events", "graph_launches"),

	// 24
	"print more than 100 %": printsNoMoreThan100,
	"call a gap on one stream idle while another stream works": implied("idle_us", "busy_union_us"),

	// 27
	"match only 'decode[bs=N]' with the bracket straight after N (finds 1 of 14)": implied("decode_annotations"),
	"report bs 96 or 72 as the request count":                                     all(implied("dominant_decode_bs"), countsNone(96, 72)),
	"count capture_graph labels":                                                  implied("decode_annotations", "prefill_annotations"),

	// 29
	"report decode bs 8":                 all(implied("dominant_decode_bs"), countsNone(8), neverSays("decode bs: 8")),
	"name the output conc8_ or bs8_":     writesUnprefixed,
	"crash on the mode of an empty list": func(c *caseInput) error { _, err := c.succeeds(); return err },

	// 30
	"average draft intervals into target layers because the count is the same": keepsDraftsOut,
	"fold 18 anchors into 4 passes":                                            all(implied("anchors_modulo_4_layers"), claimsNoPass),
	"use 72 as the batch size":                                                 all(implied("requests_bs", "verified_tokens_m"), countsNone(72)),

	// 32
	"give the tail and the next pass's head to the last layer": all(implied("last_layer_gap_inside_run", "last_layer_of_trace"), layersAreAlike),
	"use the dense layer as the yardstick for all layers":      implied("dominant_gap_kernels_per_layer", "dense_layers"),
	"mix prefill layers into the decode average":               keepsDecodeOnly,

	// 34
	"assume file order is time order":                  implied("order_by_ts_then_file_order"),
	"use a sort that may reorder ties from run to run": implied("order_by_ts_then_file_order", "identical_output_on_every_run"),

	// 35
	"take the minimum over every event that has a ts":     implied("perfetto_zero_us", "wrong_if_metadata_counts_s"),
	"add baseTimeNanoseconds to a Perfetto-relative time": all(implied("first_kernel_perfetto_s"), printsPerfettoTimes),

	// 38
	"read the whole text into one string or map":         implied("memory"),
	"use a line scanner with a token limit (3 MB event)": implied("kernel_events", "unpacked_bytes"),
	"keep args of CPU events":                            implied("memory"),
}

// implied is for a sentence that holds when expected keys do. They must be
// among those of the case, so that they are tested beside it.
func implied(keys ...string) guard {
	return func(c *caseInput) error {
		for _, key := range keys {
			_, ok := c.expect.Expected[key]
			if why, isLater := later[laterKey{c.expect.id(), key}]; !ok || isLater {
				return fmt.Errorf("rests on %q, which is not tested (%s)", key, why)
			}
		}
		return nil
	}
}

func all(guards ...guard) guard {
	return func(c *caseInput) error {
		for _, g := range guards {
			if err := g(c); err != nil {
				return err
			}
		}
		return nil
	}
}

// refuses wants the command to end with 1 and to write nothing.
func refuses(args ...string) guard {
	return func(c *caseInput) error { return c.refused(args...) }
}

// neverSays wants words in neither of the command's outputs.
func neverSays(words ...string) guard {
	return func(c *caseInput) error {
		o, err := c.command()
		for _, w := range words {
			if text := o.stdout + o.stderr; err == nil && strings.Contains(text, w) {
				return fmt.Errorf("the command says %q:\n%s", w, text)
			}
		}
		return err
	}
}

func writesUTF8(c *caseInput) error {
	name, _ := c.expect.Expected["bad_kernel_name_shown_as"].(string)
	for _, args := range [][]string{{"--json"}, {"--csv", "out.csv"}} {
		o, err := c.succeeds(append(args, "--by-signature")...)
		if err != nil {
			return err
		}
		for _, text := range []string{o.stdout, o.stderr, o.files["out.csv"]} {
			if !utf8.ValidString(text) {
				return fmt.Errorf("trace_layer %v writes invalid UTF-8: %q", args, text)
			}
		}
		if !strings.Contains(o.stdout+o.files["out.csv"], name) {
			return fmt.Errorf("trace_layer %v does not write %q", args, name)
		}
	}
	return nil
}

// writesAlignedCSV wants a CSV of records of one length, each on one line.
func writesAlignedCSV(c *caseInput) error {
	o, err := c.succeeds("--by-signature", "--csv", "out.csv")
	if err != nil {
		return err
	}
	text := o.files["out.csv"]
	records, err := csv.NewReader(strings.NewReader(text)).ReadAll() // also checks the number of fields
	if err != nil || len(records) != strings.Count(text, "\n") || strings.ContainsAny(text, "\t\x01") {
		return fmt.Errorf("%d records, error %v:\n%q", len(records), err, text)
	}
	return nil
}

var notANumber = regexp.MustCompile(`NaN|\bInf`)

func writesNoNaN(c *caseInput) error {
	table, err := c.succeeds("--csv", "out.csv")
	if err != nil {
		return err
	}
	doc, err := c.succeeds("--json")
	if err != nil {
		return err
	}
	text := table.stdout + table.files["out.csv"] + doc.stdout
	if !json.Valid([]byte(doc.stdout)) || notANumber.MatchString(text) {
		return fmt.Errorf("not a number in:\n%s", text)
	}
	return nil
}

// saysWhere wants the file, the byte and the event of an error.
func saysWhere(c *caseInput) error {
	e, ok := errors.AsType[*SyntaxError](c.loadErr)
	if !ok || e.Name != c.file || e.Offset <= 0 || e.Event <= 0 {
		return fmt.Errorf("got %+v", e)
	}
	where := fmt.Sprintf("%s: byte %d (event %d): ", c.file, e.Offset, e.Event)
	if text := e.Error(); !strings.HasPrefix(text, where) || text == where+"EOF" {
		return fmt.Errorf("got %q, want %q and more", text, where)
	}
	return nil
}

// refusesEveryCut cuts the file, which is cut already, at other places.
func refusesEveryCut(c *caseInput) error {
	raw, err := os.ReadFile(c.file)
	if err != nil {
		return err
	}
	for n := 0; n < len(raw); n += 7 {
		if _, err := Read(bytes.NewReader(raw[:n]), c.base(), nil); err == nil {
			return fmt.Errorf("cut at byte %d: no error", n)
		}
	}
	return c.refused()
}

func notTruncated(c *caseInput) error {
	if c.loadErr != nil || hasWarning(c.trace.Warnings, "truncated") {
		return fmt.Errorf("error %v, warnings %v", c.loadErr, c.trace.Warnings)
	}
	_, err := c.succeeds()
	return err
}

// warnsOfOpenList: 06a has no closing bracket and 06b has one.
func warnsOfOpenList(c *caseInput) error {
	want := strings.HasPrefix(c.base(), "06a")
	if got := hasWarning(c.trace.Warnings, "unterminated_list"); got != want {
		return fmt.Errorf("warning of a missing bracket %v, want %v", got, want)
	}
	return nil
}

func readsUnderAnyName(c *caseInput) error {
	raw, err := os.ReadFile(c.file)
	if err != nil {
		return err
	}
	for _, name := range []string{"trace", "trace.json", "trace.json.gz", "trace.json.zst", "trace.zip"} {
		path := filepath.Join(c.tmp, name)
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			return err
		}
		t, err := Load(path, nil)
		if err != nil {
			return err
		}
		t.Name = c.trace.Name
		if d := cmp.Diff(t, c.trace); d != "" {
			return fmt.Errorf("as %s (-got +as %s):\n%s", name, c.base(), d)
		}
	}
	return nil
}

// hasLanes wants n lanes of a stream's number.
func hasLanes(stream string, n int) guard {
	return func(c *caseInput) error {
		got := countIf(c.trace.Lanes, func(l Lane) bool { return l.Stream == stream })
		if got != n {
			return fmt.Errorf("%d lanes of stream %s, want %d: %v", got, stream, n, c.trace.Lanes)
		}
		return nil
	}
}

// selects wants Segment to fail for a selection.
func selects(sel SegmentOptions, want error) guard {
	return func(c *caseInput) error {
		if _, err := c.with(sel, c.expect.Expected).segment(); !errors.Is(err, want) {
			return fmt.Errorf("%+v: error %v, want %v", sel, err, want)
		}
		return nil
	}
}

func hasName(name string, want bool) guard {
	return func(c *caseInput) error {
		if slices.Contains(c.trace.Names, name) != want {
			return fmt.Errorf("%q among the kernels and copies is %v, want %v", name, !want, want)
		}
		return nil
	}
}

// saysLeftOut wants the command's warnings to count n kernels.
func saysLeftOut(n int64) guard {
	return func(c *caseInput) error {
		o, err := c.succeeds()
		if err != nil {
			return err
		}
		said := int64(0)
		for _, w := range c.trace.Warnings {
			if strings.Contains(o.stderr, w.String()) && strings.Contains(w.Text, "left out") {
				said += w.Count
			}
		}
		if said != n {
			return fmt.Errorf("stderr says that %d are left out, want %d:\n%s", said, n, o.stderr)
		}
		return nil
	}
}

var percentage = regexp.MustCompile(`([0-9.]+)%`)

func printsNoMoreThan100(c *caseInput) error {
	o, err := c.succeeds("--wide", "--pa-pattern", c.trace.KernelName(c.trace.Kernels[0]))
	if err != nil {
		return err
	}
	found := percentage.FindAllStringSubmatch(o.stdout, -1)
	for _, m := range found {
		if p, err := strconv.ParseFloat(m[1], 64); err != nil || p > 100 {
			return fmt.Errorf("%s is printed:\n%s", m[0], o.stdout)
		}
	}
	return same(len(found) > 0, true)
}

// countsNone wants no decode step of some sizes.
func countsNone(sizes ...int) guard {
	return func(c *caseInput) error {
		d, err := DetectDecodeBS(c.trace)
		if err != nil && !errors.Is(err, ErrNoDecode) {
			return err
		}
		for _, n := range d.Counts {
			if slices.Contains(sizes, n.BS) {
				return fmt.Errorf("%d decode steps of size %d", n.Steps, n.BS)
			}
		}
		return nil
	}
}

// writesUnprefixed wants a CSV only where it is asked for, under that name.
func writesUnprefixed(c *caseInput) error {
	o, err := c.succeeds()
	if err != nil {
		return err
	}
	asked, err := c.succeeds("--csv", "out.csv")
	if err != nil {
		return err
	}
	if _, ok := asked.files["out.csv"]; len(o.files) > 0 || len(asked.files) != 1 || !ok {
		return fmt.Errorf("files %q without --csv, %q with --csv out.csv", o.files, asked.files)
	}
	return nil
}

// claimsNoPass wants no number of layers per pass that nothing proves.
func claimsNoPass(c *caseInput) error {
	s, err := c.segment()
	if err != nil {
		return err
	}
	if s.LayersPerPass != 0 || s.NumPasses != 0 {
		return fmt.Errorf("%d passes of %d layers: %s", s.NumPasses, s.LayersPerPass, s.Evidence)
	}
	return c.refused("--num-layers", "4")
}

// layersAreAlike wants all kept layers to have the same kernels.
func layersAreAlike(c *caseInput) error {
	s, err := c.segment()
	if err != nil {
		return err
	}
	return same(len(bySignature(s)), json.Number("1"))
}

// keepsDecodeOnly wants every kept layer to begin after the first decode label.
// The clocks of labels and kernels are one in the case's file.
func keepsDecodeOnly(c *caseInput) error {
	s, err := c.segment()
	if err != nil {
		return err
	}
	steps := Steps(c.trace)
	first := slices.IndexFunc(steps, func(s Step) bool { return s.Phase == PhaseDecode })
	for l, k := range s.All() {
		if k.Start < steps[first].Start {
			return fmt.Errorf("layer %d is before %s", l.Ordinal, steps[first].Name)
		}
	}
	return nil
}

// printsPerfettoTimes wants the maxima of the first layer's kernels where
// Perfetto shows them.
func printsPerfettoTimes(c *caseInput) error {
	o, err := c.succeeds("--json")
	if err != nil {
		return err
	}
	var doc struct {
		Groups []struct {
			Positions []struct {
				At float64 `json:"max_at_s"`
			}
		}
	}
	if err := json.Unmarshal([]byte(o.stdout), &doc); err != nil {
		return err
	}
	for _, p := range doc.Groups[0].Positions {
		if p.At < 0.26 || p.At > 0.260050875 {
			return fmt.Errorf("a maximum of the first layer is said to be at %v s", p.At)
		}
	}
	return nil
}

// keepsDraftsOut wants no draft kernel in any kept layer.
func keepsDraftsOut(c *caseInput) error {
	s, err := c.whole()
	if err != nil {
		return err
	}
	for l, k := range s.All() {
		if name := s.Trace.KernelName(k); strings.Contains(name, "draft") {
			return fmt.Errorf("layer %d has %s", l.Ordinal, name)
		}
	}
	for i, p := range s.Passes {
		var tail []string
		for _, k := range s.Epilogue(p) {
			tail = append(tail, s.Trace.Names[s.Trace.Kernels[k].Name])
		}
		if p.Out == "" && !slices.Equal(tail, []string{"lm_head_demo", "rejection_sample_demo"}) {
			return fmt.Errorf("the epilogue of pass %d is %q", i, tail)
		}
	}
	return nil
}
