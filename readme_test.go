package tracelayer_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fence finds the code blocks of a Markdown text: language and content.
var fence = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")

// TestREADME runs the commands that README.md shows and compares their output
// with what it shows, and its Go code with the program it is from.
func TestREADME(t *testing.T) {
	t.Parallel()
	program := readText(t, "examples/custom_analysis/main.go")
	var commands []string
	for _, block := range fence.FindAllStringSubmatch(readText(t, "README.md"), -1) {
		language, text := block[1], block[2]
		if language == "go" {
			if !strings.Contains(program, text) {
				t.Errorf("this code is not in examples/custom_analysis/main.go:\n%s", text)
			}
			continue
		}
		line, output, _ := strings.Cut(text, "\n")
		command, ok := strings.CutPrefix(line, "$ ")
		if !ok {
			t.Errorf("a block that is neither Go nor begins with a command:\n%s", text)
			continue
		}
		commands = append(commands, command)
		args, ok := strings.CutPrefix(command, "go run ./examples/trace_layer ")
		switch {
		case ok && testing.Short():
			// Building and running a program is not for a short test.
		case ok:
			if d := cmp.Diff(traceLayer(t, args), output); d != "" {
				t.Errorf("$ %s (-got +README.md):\n%s", command, d)
			}
		case output != "":
			t.Errorf("$ %s: no test compares the output shown", command)
		}
	}
	want := []string{"go run ./examples/trace_layer testdata/traces/atom_decode.json.gz", "go test ./..."}
	if d := cmp.Diff(commands, want); d != "" {
		t.Errorf("commands (-got +want):\n%s", d)
	}
}

// traceLayer is what examples/trace_layer writes to stdout when it reads trace.
// It runs in another directory, since it leaves a CSV where it runs.
func traceLayer(t *testing.T, trace string) string {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "trace_layer.exe") // Windows wants the suffix, others do not mind
	if out, err := exec.Command("go", "build", "-o", program, "./examples/trace_layer").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	trace, err := filepath.Abs(trace)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, trace)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func readText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
