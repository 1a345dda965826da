package tracelayer

import (
	"bytes"
	gocmp "cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/tracelayer/tracelayer/internal/chrometrace"
)

// TestManifest reads every real trace and compares what was counted.
func TestManifest(t *testing.T) {
	t.Parallel()
	for _, row := range rowsOf(t, shared(t, "traces", "MANIFEST.tsv")) {
		t.Run(row["file"], func(t *testing.T) {
			t.Parallel()
			trace, err := Load(shared(t, "traces", row["file"]), nil)
			if strings.Contains(row["n_events"], "cut off") {
				if !errors.Is(err, ErrTruncated) {
					t.Errorf("error %v, want %v", err, ErrTruncated)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := strconv.FormatInt(trace.Counts.Events, 10); got != row["n_events"] {
				t.Errorf("%s events, want %s", got, row["n_events"])
			}
			if got := strconv.FormatInt(trace.Counts.Kernels, 10); got != row["kernels_any_case(ph X)"] {
				t.Errorf("%s kernels, want %s", got, row["kernels_any_case(ph X)"])
			}
			if int64(len(trace.Kernels)) != trace.Counts.Kernels || len(trace.Correlations) != len(trace.Kernels) {
				t.Errorf("%d kernels and %d correlations kept of %d", len(trace.Kernels), len(trace.Correlations), trace.Counts.Kernels)
			}
			if !slices.IsSortedFunc(trace.Kernels, func(a, b Kernel) int { return gocmp.Compare(a.Start, b.Start) }) {
				t.Error("kernels are not in order")
			}
		})
	}
}

// An oracleFile is the independent result of spec 000's algorithm.
type oracleFile struct {
	Anchors []struct {
		Anchor string     `json:"anchor"`
		All    oracle     `json:"all"`
		Stream oracleLane `json:"anchor_stream"`
	} `json:"anchors"`
}

type oracle struct {
	Kernels  int      `json:"n_kernels"`
	Anchors  int      `json:"n_anchors"`
	Gaps     [][2]int `json:"gap_histogram"`
	Gap      int      `json:"dominant_gap"`
	Tie      []int    `json:"dominant_gap_tie"`
	N        int
	Total    float64 `json:"total_per_layer_us"`
	Position []struct {
		Pos      int
		Name     string
		Variants int `json:"name_variants"`
		Count    int `json:"name_count"`
		Avg      float64
		Std      *float64 // null where we say 0
		Min, Max float64
		N        int
		Percent  float64
	} `json:"positions"`
}

type oracleLane struct {
	TID any `json:"tid"`
	oracle
}

// TestOracle compares with the independent results, digit for digit as printed.
func TestOracle(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(shared(t, "traces", "oracle"), "*.seed0.json"))
	if err != nil || len(files) == 0 {
		t.Fatal("no oracle files", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".seed0.json")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var o oracleFile
			readJSON(t, file, &o)
			trace := sharedTrace(t, name)
			for _, a := range o.Anchors {
				compareOracle(t, trace, a.Anchor, "", a.All)
				compareOracle(t, trace, a.Anchor, fmt.Sprint(a.Stream.TID), a.Stream.oracle)
			}
		})
	}
}

func readJSON(t *testing.T, file string, v any) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, v); err != nil {
		t.Fatal(file, err)
	}
}

func compareOracle(t *testing.T, trace *Trace, anchor, stream string, want oracle) {
	t.Helper()
	s, err := Segment(trace, AnchorProfile(anchor), &SegmentOptions{Cut: CutAnchors, Stream: stream})
	if want.Gap == 0 {
		var refused *SegmentError
		if !errors.Is(err, ErrNoAnchor) || !errors.As(err, &refused) || refused.Anchors != want.Anchors {
			t.Errorf("%s: error %v, want %v with %d anchors", anchor, err, ErrNoAnchor, want.Anchors)
		}
		return
	}
	if err != nil {
		t.Error(err)
		return
	}
	sum, err := Summarize(s, nil)
	if err != nil {
		t.Error(err)
		return
	}
	if d := cmp.Diff(described(s, sum), oracleText(want)); d != "" {
		t.Errorf("%s, stream %q (-got +oracle):\n%s", anchor, stream, d)
	}
	kept := len(s.Layers)
	for _, l := range s.LeftOut {
		kept += l.Layers
	}
	if kept != s.Anchors {
		t.Errorf("%s: %d layers kept or left out of %d anchors", anchor, kept, s.Anchors)
	}
}

// described is a result as text, with one decimal more than the table prints.
func described(s *Segments, sum *Summary) []string {
	gaps := slices.Clone(s.Gaps)
	slices.SortFunc(gaps, func(a, b Gap) int {
		if a.Count != b.Count {
			return b.Count - a.Count
		}
		return a.Kernels - b.Kernels
	})
	lines := []string{fmt.Sprintf("%d kernels, %d anchors, gap %d (tie %v), %d layers, total %s, gaps %v",
		len(s.Order), s.Anchors, s.KernelsPerLayer, s.Tie, len(s.Layers), round(sum.Groups[0].TotalUS), gaps)}
	for _, p := range sum.Groups[0].Positions {
		lines = append(lines, fmt.Sprintf("%d %s: %d variants, %.0f here, avg %s std %s min %s max %s N %d %s%%", p.Pos, p.Name,
			p.Variants, p.Purity*float64(len(s.Layers)), round(p.AvgUS), round(p.StdUS), round(p.MinUS), round(p.MaxUS), p.N, round(p.Pct)))
	}
	return lines
}

func oracleText(o oracle) []string {
	gaps := make([]Gap, len(o.Gaps))
	for i, g := range o.Gaps {
		gaps[i] = Gap{g[0], g[1]}
	}
	lines := []string{fmt.Sprintf("%d kernels, %d anchors, gap %d (tie %v), %d layers, total %s, gaps %v",
		o.Kernels, o.Anchors, o.Gap, len(o.Tie) > 0, o.N, round(o.Total), gaps)}
	for _, p := range o.Position {
		std := 0.0
		if p.Std != nil {
			std = *p.Std
		}
		lines = append(lines, fmt.Sprintf("%d %s: %d variants, %d here, avg %s std %s min %s max %s N %d %s%%", p.Pos, p.Name,
			p.Variants, p.Count, round(p.Avg), round(std), round(p.Min), round(p.Max), p.N, round(p.Percent)))
	}
	return lines
}

// round prints five decimals of a number that was rounded to nine by the oracle.
func round(x float64) string { return fmt.Sprintf("%.5f", math.Round(x*1e7)/1e7) }

// TestNoFalsePass: no pass's time is claimed on any real trace, since each has
// fewer than two labelled decode steps.
func TestNoFalsePass(t *testing.T) {
	t.Parallel()
	for _, file := range sharedTraces(t) {
		trace, err := Load(file, nil)
		if err != nil {
			continue
		}
		for _, name := range trace.Names {
			s, err := Segment(trace, AnchorProfile(name), &SegmentOptions{Cut: CutAnchors})
			if err == nil && s.LayersPerPass != 0 {
				t.Errorf("%s: %d layers per pass by %.60q: %s", filepath.Base(file), s.LayersPerPass, name, s.Evidence)
			}
		}
	}
}

// TestLayouts reads every real trace as it is, compact, indented with tabs,
// with its keys shuffled, and in small pieces, and gets equal traces.
func TestLayouts(t *testing.T) {
	t.Parallel()
	for _, file := range sharedTraces(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			plain := inflated(t, file)
			if !json.Valid(plain) {
				t.Skip("not JSON to other readers, so there is no other layout of it")
			}
			if testing.Short() && len(plain) > 1<<20 {
				t.Skip("large; left out by -short")
			}
			t.Parallel()
			want := readBytes(t, bytes.NewReader(plain))
			for name, layout := range layouts(t, plain) {
				if d := cmp.Diff(readBytes(t, bytes.NewReader(layout)), want); d != "" {
					t.Errorf("%s (-got +as it is):\n%.2000s", name, d)
				}
			}
			if d := cmp.Diff(readBytes(t, &pieces{plain, 4096}), want); d != "" {
				t.Errorf("in pieces of 4 KiB (-got +whole):\n%.2000s", d)
			}
			if len(plain) < 1<<20 {
				if d := cmp.Diff(readBytes(t, iotest.OneByteReader(bytes.NewReader(plain))), want); d != "" {
					t.Errorf("byte by byte (-got +whole):\n%.2000s", d)
				}
			}
		})
	}
}

func inflated(t *testing.T, file string) []byte {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := chrometrace.Open(f)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	plain, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

// readBytes reads a trace and blanks what a layout may change.
func readBytes(t *testing.T, r io.Reader) *Trace {
	t.Helper()
	trace, err := Read(r, "x", nil)
	if err != nil {
		t.Error(err)
		return nil
	}
	trace.Counts.Bytes = 0
	return trace
}

// pieces gives n bytes a read.
type pieces struct {
	b []byte
	n int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.b) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), p.n)], p.b)
	p.b = p.b[n:]
	return n, nil
}

// layouts writes the same trace in other ways.
func layouts(t *testing.T, plain []byte) map[string][]byte {
	t.Helper()
	var compact, tabs bytes.Buffer
	if err := errors.Join(json.Compact(&compact, plain), json.Indent(&tabs, plain, "", "\t")); err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{"compact": compact.Bytes(), "tabs": tabs.Bytes(), "shuffled": shuffled(t, plain)}
}

// shuffled writes every object's keys, down to those of args, in random order.
func shuffled(t *testing.T, plain []byte) []byte {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	var top map[string]json.RawMessage
	list := json.RawMessage(plain)
	if plain[bytes.IndexAny(plain, "{[")] == '{' {
		if err := json.Unmarshal(plain, &top); err != nil {
			t.Fatal(err)
		}
		list = top["traceEvents"]
	}
	var events []json.RawMessage
	if err := json.Unmarshal(list, &events); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	out.WriteByte('[')
	for i, e := range events {
		if i > 0 {
			out.WriteString(", ")
		}
		shuffleObject(t, &out, rng, e, "args")
	}
	out.WriteByte(']')
	if top == nil {
		return out.Bytes()
	}
	top["traceEvents"] = out.Bytes()
	var whole bytes.Buffer
	writeShuffled(t, &whole, rng, top, "")
	return whole.Bytes()
}

// shuffleObject writes an object with its keys, and those of the object under
// inner, in random order. Anything else is written as it is.
func shuffleObject(t *testing.T, out *bytes.Buffer, rng *rand.Rand, raw json.RawMessage, inner string) {
	var object map[string]json.RawMessage
	if raw[0] != '{' {
		out.Write(raw)
		return
	}
	if err := json.Unmarshal(raw, &object); err != nil {
		t.Fatal(err)
	}
	writeShuffled(t, out, rng, object, inner)
}

func writeShuffled(t *testing.T, out *bytes.Buffer, rng *rand.Rand, object map[string]json.RawMessage, inner string) {
	keys := slices.Sorted(maps.Keys(object))
	rng.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	out.WriteByte('{')
	for i, k := range keys {
		if i > 0 {
			out.WriteString(",")
		}
		name, err := json.Marshal(k)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(name)
		out.WriteByte(':')
		if k == inner {
			shuffleObject(t, out, rng, object[k], "")
		} else {
			out.Write(object[k])
		}
	}
	out.WriteByte('}')
}
