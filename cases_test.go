package tracelayer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// An expectFile says what a correct tool does with the traces of one case.
// Sources, Oddity and PolicyNote are prose for people and are not checked.
type expectFile struct {
	Case       string         `json:"case"`
	Inputs     []string       `json:"inputs"`
	Sources    []string       `json:"sources"`
	Oddity     string         `json:"oddity"`
	Load       any            `json:"load"` // a text, or one for each input
	Error      *expectError   `json:"error"`
	Expected   map[string]any `json:"expected"`
	MustNot    []string       `json:"must_not"`
	PolicyNote string         `json:"policy_note"`
}

type expectError struct {
	File        string   `json:"file"` // empty for every input
	Kind        string   `json:"kind"`
	ExitNonzero bool     `json:"exit_nonzero"`
	MustMention []string `json:"must_mention"`
	OnlyIf      string   `json:"only_if"`
}

// A laterKey is an expectation, an expected key or a must_not sentence, of a
// case, which is named by its two digits.
type laterKey struct{ id, what string }

// later lists what cannot be checked yet, and why. Each entry is a skipped test.
var later = map[laterKey]string{
	{"21", "join kernels to launches of the other rank by correlation"}: "the case has no launch to join; TestAttributeGenerated has two ranks whose ids coincide",
}

// mustCover are the cases that have to be there.
var mustCover = strings.Fields("01 02 04 05 06 07 09 10 11 13 15 17 18 20 21 22 23 24 27 29 30 32 34 35 38")

// TestCases holds the library and the command trace_layer against every case
// of ../shared/cases: traces of the kinds that broke some tool, each with the
// right result. It fails on an expectation that it does not know.
func TestCases(t *testing.T) {
	dir, err := filepath.Abs(shared(t, "cases"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.expect.json"))
	if err != nil {
		t.Fatal(err)
	}
	bin := buildCommand(t)
	var ids, inputs []string
	for _, file := range files {
		e := readExpect(t, file)
		ids = append(ids, e.id())
		inputs = append(inputs, e.Inputs...)
		for _, input := range e.Inputs {
			t.Run(input, func(t *testing.T) {
				if _, ok := e.Expected["memory"]; !ok { // what others allocate would be measured too
					t.Parallel()
				}
				newCaseInput(t, e, filepath.Join(dir, input), bin).run(t)
			})
		}
	}
	for _, id := range mustCover {
		if !slices.Contains(ids, id) {
			t.Errorf("case %s is not there", id)
		}
	}
	checkInputs(t, dir, inputs)
}

// checkInputs checks that each trace in dir belongs to a case, and that later
// names only what the cases expect.
func checkInputs(t *testing.T, dir string, inputs []string) {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	known := map[laterKey]bool{}
	for _, f := range all {
		switch name := f.Name(); {
		case strings.HasSuffix(name, ".expect.json"):
			e := readExpect(t, filepath.Join(dir, name))
			for key := range e.Expected {
				known[laterKey{e.id(), key}] = true
			}
			for _, s := range e.MustNot {
				known[laterKey{e.id(), s}] = true
			}
		case name != "README.md" && !slices.Contains(inputs, name):
			t.Errorf("%s is in no case", name)
		}
	}
	for k := range later {
		if !known[k] {
			t.Errorf("later has %q, which case %s does not expect", k.what, k.id)
		}
	}
}

func readExpect(t *testing.T, file string) *expectFile {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber() // nanoseconds of today do not fit a float64
	dec.DisallowUnknownFields()
	e := &expectFile{}
	if err := dec.Decode(e); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if want := strings.TrimSuffix(filepath.Base(file), ".expect.json"); e.Case != want {
		t.Errorf("%s: case %q, want %q", file, e.Case, want)
	}
	return e
}

func (e *expectFile) id() string { return e.Case[:2] }

// A caseInput is one input of a case, read.
type caseInput struct {
	expect  *expectFile
	file    string // its absolute path
	bin     string // the command trace_layer
	tmp     string
	trace   *Trace // nil where loadErr is not
	loadErr error

	pattern string // what an anchor has in its name
	sel     SegmentOptions
}

func newCaseInput(t *testing.T, e *expectFile, file, bin string) *caseInput {
	c := &caseInput{expect: e, file: file, bin: bin, tmp: t.TempDir()}
	c.trace, c.loadErr = Load(file, nil)
	return c.with(SegmentOptions{}, e.Expected)
}

// with is c for the kernels that sel selects, of which expected is said.
func (c *caseInput) with(sel SegmentOptions, expected map[string]any) *caseInput {
	d := *c
	sel.Cut = CutAnchors // what the cases count from anchor to anchor
	d.sel, d.pattern = sel, "pa_bf16"
	if p, ok := expected["anchor_pattern"].(string); ok {
		d.pattern = p
	}
	return &d
}

func (c *caseInput) base() string { return filepath.Base(c.file) }

// segment cuts the trace as c says.
func (c *caseInput) segment() (*Segments, error) {
	if c.loadErr != nil {
		return nil, c.loadErr
	}
	return Segment(c.trace, AnchorProfile(c.pattern), &c.sel)
}

// whole cuts whole layers.
func (c *caseInput) whole() (*Segments, error) {
	if c.loadErr != nil {
		return nil, c.loadErr
	}
	return Segment(c.trace, AnchorProfile(c.pattern), nil)
}

// run makes a test of each thing that the expect file says.
func (c *caseInput) run(t *testing.T) {
	test := func(name string, f func() error) {
		t.Run(name, func(t *testing.T) {
			if why, ok := later[laterKey{c.expect.id(), name}]; ok {
				t.Skip("later: " + why)
			}
			if err := f(); err != nil {
				t.Error(err)
			}
		})
	}
	test("load", c.checkLoad)
	if c.expect.Error != nil {
		test("error", c.checkError)
	}
	for key, want := range c.expect.Expected {
		test(key, func() error { return c.checkKey(key, want) })
	}
	for _, sentence := range c.expect.MustNot {
		test(sentence, func() error {
			check := mustNotChecks[sentence]
			if check == nil {
				return fmt.Errorf("unknown sentence %q of must_not", sentence)
			}
			return check(c)
		})
	}
}

func (c *caseInput) checkKey(key string, want any) error {
	check := expectedChecks[key]
	if check == nil {
		check = segmentChecks[key]
	}
	if check == nil {
		return fmt.Errorf("unknown key %q of expected", key)
	}
	return check(c, want)
}

// checkLoad checks the load of an expect file: whether the trace loads, and
// whether the library has something to say of it.
func (c *caseInput) checkLoad() error {
	load := c.expect.Load
	if each, ok := load.(map[string]any); ok {
		for name := range each {
			if !slices.Contains(c.expect.Inputs, name) {
				return fmt.Errorf("load names %q, which is no input", name)
			}
		}
		load = each[c.base()]
	}
	switch load {
	case "ok", "ok or error": // both fit what is supported
		if c.loadErr != nil || len(c.trace.Warnings) > 0 {
			return fmt.Errorf("error %v, warnings %v, want neither", c.loadErr, c.trace.Warnings)
		}
	case "ok_with_warnings":
		return c.checkWarned()
	case "error":
		if c.expect.Error == nil {
			return errors.New("load is error, but no error is described")
		}
	default:
		return fmt.Errorf("unknown load %q", load)
	}
	return c.checkCounts()
}

// checkWarned checks that the trace loads and that the command says, beside
// its table, all that the library finds odd: warnings, or why no step decodes.
func (c *caseInput) checkWarned() error {
	if c.loadErr != nil {
		return c.loadErr
	}
	var odd []string
	for _, w := range c.trace.Warnings {
		odd = append(odd, w.Text)
	}
	if _, err := DetectDecodeBS(c.trace); errors.Is(err, ErrNoDecode) && len(odd) == 0 {
		odd = append(odd, err.Error())
	}
	if len(odd) == 0 {
		return errors.New("no warning")
	}
	o, err := c.succeeds()
	if err != nil {
		return err
	}
	for _, text := range odd {
		if !strings.Contains(o.stderr, text) {
			return fmt.Errorf("stderr lacks %q:\n%s", text, o.stderr)
		}
	}
	return c.checkCounts()
}

// checkCounts checks that every kernel and copy that was read was kept or
// counted as unplaced.
func (c *caseInput) checkCounts() error {
	if c.loadErr != nil {
		return nil
	}
	t := c.trace
	kept := int64(len(t.Kernels) + len(t.Copies))
	if n := t.Counts; kept+n.Unplaced != n.Kernels+n.Copies || len(t.Correlations) != len(t.Kernels) {
		return fmt.Errorf("%d kernels and copies and %d correlations kept of %+v", kept, len(t.Correlations), n)
	}
	return nil
}

// same compares a value with one of an expect file, as JSON.
func same(got, want any) error {
	raw, err := json.Marshal(got)
	if err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var plain any
	if err := dec.Decode(&plain); err != nil {
		return err
	}
	if d := cmp.Diff(plain, want); d != "" {
		return fmt.Errorf("(-got +want):\n%s", d)
	}
	return nil
}

// buildCommand builds trace_layer. Its run is in a package main, out of reach
// of a test in the root package.
func buildCommand(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "trace_layer.exe")
	out, err := exec.Command("go", "build", "-o", bin, "./examples/trace_layer").CombinedOutput()
	if err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return bin
}

// An outcome is what a run of the command did.
type outcome struct {
	code           int
	stdout, stderr string
	files          map[string]string // what it left in its working directory, by name
}

// command runs `trace_layer FILE args...` in a directory of its own.
func (c *caseInput) command(args ...string) (outcome, error) {
	dir, err := os.MkdirTemp(c.tmp, "run")
	if err != nil {
		return outcome{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, c.bin, append([]string{c.file}, args...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr
	if err := cmd.Run(); cmd.ProcessState == nil || ctx.Err() != nil {
		return outcome{}, fmt.Errorf("trace_layer %v: %w", args, errors.Join(err, ctx.Err()))
	}
	o := outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String(), map[string]string{}}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return o, err
	}
	for _, e := range entries {
		raw, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return o, err
		}
		o.files[e.Name()] = string(raw)
	}
	if strings.Contains(o.stderr, "goroutine ") {
		return o, fmt.Errorf("trace_layer %v panics:\n%s", args, o.stderr)
	}
	return o, nil
}

// succeeds runs the command and wants a result.
func (c *caseInput) succeeds(args ...string) (outcome, error) {
	o, err := c.command(args...)
	if err == nil && (o.code != 0 || o.stdout == "") {
		err = fmt.Errorf("trace_layer %v: exit code %d, stdout %q, stderr:\n%s", args, o.code, o.stdout, o.stderr)
	}
	return o, err
}

// refused runs the command in each way of writing a result and wants none of it.
func (c *caseInput) refused(args ...string) error {
	for _, more := range [][]string{nil, {"--json"}, {"--csv", "out.csv"}} {
		o, err := c.command(slices.Concat(args, more)...)
		if err != nil {
			return err
		}
		if o.code != 1 || o.stdout != "" || len(o.files) > 0 || o.stderr == "" {
			return fmt.Errorf("trace_layer %v %v: exit code %d, want 1; stdout %q, files %q, want none; stderr %q",
				args, more, o.code, o.stdout, o.files, o.stderr)
		}
	}
	return nil
}
