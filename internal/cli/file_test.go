package cli

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func content(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

// files maps the names in dir to what they hold.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		got[e.Name()] = string(b)
	}
	return got
}

func TestWriteFileWholeOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.csv")
	bad := errors.New("half way")
	half := func(w io.Writer) error {
		// More than any buffer, so that some of it has reached the disk.
		if _, err := w.Write(make([]byte, 1<<20)); err != nil {
			return err
		}
		return bad
	}
	steps := []struct {
		name  string
		write func(io.Writer) error
		err   error
		want  map[string]string
	}{
		{"failing, no file before", half, bad, map[string]string{}},
		{"new", content("one"), nil, map[string]string{"a.csv": "one"}},
		{"failing, old file stays", half, bad, map[string]string{"a.csv": "one"}},
		{"replaced", content("two"), nil, map[string]string{"a.csv": "two"}},
	}
	for _, s := range steps { // in order: each works on what the last one left
		if err := WriteFile(path, s.write); !errors.Is(err, s.err) {
			t.Errorf("%s: got error %v, want %v", s.name, err, s.err)
		}
		if d := cmp.Diff(s.want, files(t, dir)); d != "" {
			t.Errorf("%s: files -want +got:\n%s", s.name, d)
		}
	}
}

func TestWriteFileErrorsNameTheFile(t *testing.T) {
	dir := t.TempDir()
	err := WriteFile(filepath.Join(dir, "no", "a.csv"), content("x"))
	want := "write " + filepath.Join(dir, "no", "a.csv") + ": "
	if !errors.Is(err, fs.ErrNotExist) || len(err.Error()) < len(want) || err.Error()[:len(want)] != want {
		t.Errorf("got error %v, want %q and that it does not exist", err, want)
	}
	if err := WriteFile(dir, content("x")); err == nil {
		t.Error("a directory was written to")
	}
}

func TestWriteFileFollowsLinks(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "real.csv"), filepath.Join(dir, "link.csv")
	if err := os.WriteFile(file, []byte("old"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real.csv", link); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	if err := WriteFile(link, content("new")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(link)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info, err)
	}
	if d := cmp.Diff(map[string]string{"real.csv": "new", "link.csv": "new"}, files(t, dir)); d != "" {
		t.Errorf("files -want +got:\n%s", d)
	}
}

func TestWriteFileLeavesDevicesAlone(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has /dev/full")
	}
	// A copy of the path is not possible, so a device that refuses to be
	// written to shows that it was not replaced by a file.
	err := WriteFile("/dev/full", content("x"))
	if err == nil {
		t.Error("writing to a full device succeeded")
	}
	info, err := os.Stat("/dev/full")
	if err != nil || info.Mode()&fs.ModeDevice == 0 {
		t.Errorf("/dev/full is no device any more: %v, %v", info, err)
	}
}

func TestCheckOutput(t *testing.T) {
	dir := t.TempDir()
	trace := filepath.Join(dir, "t.json")
	if err := os.WriteFile(trace, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(trace, filepath.Join(dir, "alias.json")); err != nil {
		t.Skipf("no hard links here: %v", err)
	}
	for _, tt := range []struct {
		name, path, input string
		usage, ok         bool
	}{
		{"new file", filepath.Join(dir, "a.csv"), trace, false, true},
		{"in the working directory", "a.csv", trace, false, true},
		{"input is stdin", filepath.Join(dir, "a.csv"), "-", false, true},
		{"directory", dir + string(filepath.Separator), trace, true, false},
		{"no such directory", filepath.Join(dir, "no", "a.csv"), trace, false, false},
		{"a file for a directory", filepath.Join(trace, "a.csv"), trace, false, false},
		{"the trace", trace, trace, true, false},
		{"the trace by another name", filepath.Join(dir, "alias.json"), trace, true, false},
	} {
		err := CheckOutput("--csv", tt.path, tt.input)
		_, usage := errors.AsType[*UsageError](err)
		if (err == nil) != tt.ok || usage != tt.usage {
			t.Errorf("%s: got error %v (usage %v), want ok %v, usage %v", tt.name, err, usage, tt.ok, tt.usage)
		}
	}
}

func TestLayerCSV(t *testing.T) {
	for _, tt := range []struct {
		given string
		bs    int
		auto  bool
		want  string
	}{
		{"", 32, true, "conc32_layer.csv"},
		{"", 0, true, ""},
		{"", 32, false, ""},
		{"out.csv", 117, true, "conc117_out.csv"},
		{"out.csv", 117, false, "conc117_out.csv"},
		{"a/b/out.csv", 8, true, "a/b/conc8_out.csv"},
		{"./out.csv", 8, true, "./conc8_out.csv"},
		{"/out.csv", 8, true, "/conc8_out.csv"},
		{"out.csv", 0, true, "out.csv"},
		{"a/out.csv", 0, false, "a/out.csv"},
	} {
		if got := LayerCSV(tt.given, tt.bs, tt.auto); got != tt.want {
			t.Errorf("LayerCSV(%q, %d, %v) = %q, want %q", tt.given, tt.bs, tt.auto, got, tt.want)
		}
	}
}
