package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// WriteFile makes the file at path hold what write writes. The file appears
// whole or not at all: it is written under another name beside path and
// renamed when it is on disk. A device or a pipe is written to directly, since
// a rename would put a file in its place.
func WriteFile(path string, write func(io.Writer) error) error {
	name, regular, err := target(path)
	if err == nil && regular {
		err = replace(name, write)
	} else if err == nil {
		err = writeTo(name, write)
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err // its path is the temporary file's, which nobody knows
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func writeTo(name string, write func(io.Writer) error) error {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	err = fill(f, write)
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

func replace(name string, write func(io.Writer) error) error {
	f, err := createBeside(name)
	if err != nil {
		return err
	}
	err = fill(f, write)
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the first error is the one to report
	}
	return err
}

// target follows path where it is a link, so that the file behind the link is
// replaced and not the link, and tells whether a rename may replace it.
func target(path string) (name string, regular bool, err error) {
	name, err = filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, true, nil
	}
	if err != nil {
		return "", false, err
	}
	info, err := os.Stat(name)
	if err != nil {
		return "", false, err
	}
	if info.IsDir() {
		return "", false, errors.New("it is a directory")
	}
	return name, info.Mode().IsRegular(), nil
}

// createBeside opens a new file in the directory of path. Unlike
// os.CreateTemp it leaves the permissions to the umask, as for any other file.
func createBeside(path string) (*os.File, error) {
	dir, base := filepath.Split(path)
	for range 100 {
		name := fmt.Sprintf("%s.%s.%08x.tmp", dir, base, rand.Uint32())
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
	return nil, errors.New("no free name for a temporary file")
}

func fill(f *os.File, write func(io.Writer) error) error {
	b := bufio.NewWriter(f)
	if err := write(b); err != nil {
		return err
	}
	return b.Flush()
}

// CheckOutput refuses an output that could only fail after a long reading:
// one that names no file, has no directory to be in, or is the input itself.
func CheckOutput(flag, path, input string) error {
	dir, base := filepath.Split(path)
	if info, err := os.Stat(path); base == "" || base == "-" || err == nil && info.IsDir() {
		return Usagef("%s %s does not name a file to write", flag, path)
	}
	if dir == "" {
		dir = "."
	}
	if info, err := os.Stat(dir); err != nil {
		return fmt.Errorf("%s %s: %w", flag, path, err)
	} else if !info.IsDir() {
		return fmt.Errorf("%s %s: %s is not a directory", flag, path, dir)
	}
	return SameFile(path, input)
}

// SameFile is an error when writing output would overwrite the input.
func SameFile(output, input string) error {
	in, err := os.Stat(input)
	if err != nil {
		return nil // stdin, or an error that reading reports better
	}
	out, err := os.Stat(output)
	if err == nil && os.SameFile(in, out) {
		return Usagef("%s is the trace itself and would be overwritten", output)
	}
	return nil
}

// LayerCSV is where trace_layer writes its CSV, empty for nowhere. Given is
// the value of --csv, empty without the flag; bs is the dominant decode batch
// size, 0 when there is none; auto allows a file that nobody asked for. The
// rules are the script's: a known batch size goes before the file name, and
// without --csv it makes a name of its own.
func LayerCSV(given string, bs int, auto bool) string {
	switch {
	case given == "" && (bs == 0 || !auto):
		return ""
	case given == "":
		return fmt.Sprintf("conc%d_layer.csv", bs)
	case bs == 0:
		return given
	}
	dir, base := filepath.Split(given)
	return fmt.Sprintf("%sconc%d_%s", dir, bs, base)
}
