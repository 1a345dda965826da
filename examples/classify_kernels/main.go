// Command classify_kernels says what GPU kernels do, by their names.
//
//	classify_kernels [--profile NAME] < NAMES
//	classify_kernels TRACE [--profile NAME] [--unclassified]
//
// Without a trace it reads names, one a line, and prints group, key and name of
// each. With one it prints the groups with their time. README.md one directory
// up and --help say more.
package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/tracelayer/tracelayer"
	"github.com/tracelayer/tracelayer/internal/cli"
	"github.com/tracelayer/tracelayer/internal/report"
)

const about = `classify_kernels says what GPU kernels do, by their names.

    classify_kernels [--profile NAME] < NAMES
    classify_kernels TRACE [--profile NAME] [--unclassified] [--json]

Without a trace, names come from standard input, one a line, and each gives a line
of group, key and name, with a TAB between them. With a trace, the groups of its
kernels are printed with their number and time. Copies and sets are no kernels.
`

const after = `
The rules are those of the profile, then those for every model; without --profile
those of all families (any). A name that no rule knows is in the group other.

Exit codes: 0 done, 1 the input does not allow it, 2 wrong use.
`

// maxName is the longest name that is read from standard input, in bytes.
const maxName = 16 << 20

type options struct {
	trace, profile, dir           string
	unclassified, json, truncated bool
}

func main() { cli.Main("classify_kernels", run) }

func parse(args []string) (o options, err error) {
	f := cli.NewFlags("classify_kernels")
	f.StringVar(&o.profile, "profile", "", "use the rules of profile `NAME` instead of all families'")
	f.StringVar(&o.dir, "profile-dir", "", "read more profiles from the *.json files of `DIR`")
	f.BoolVar(&o.unclassified, "unclassified", false, "list the kernels of the trace that no rule knows, by time")
	f.BoolVar(&o.json, "json", false, "print one JSON document of the trace")
	f.BoolVar(&o.truncated, "allow-truncated", false, "of a file that was cut off, use what comes before the cut")
	if err = f.Parse(args, about, after); err != nil {
		return o, err
	}
	switch f.NArg() {
	case 0:
		for _, name := range []string{"unclassified", "json", "allow-truncated"} {
			if f.Changed(name) {
				return o, cli.Usagef("--%s needs a trace", name)
			}
		}
	case 1:
		if o.trace = f.Arg(0); o.trace == "" {
			return o, cli.Usagef("empty argument: the trace file")
		}
	default:
		return o, cli.Usagef("one trace at most, got %d", f.NArg())
	}
	return o, nil
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	o, err := parse(args)
	if text, ok := cli.Answer(err); ok {
		return cli.Print(stdout, text)
	}
	if err != nil {
		return err
	}
	p, err := cli.Profile(o.profile, o.dir)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if o.trace == "" {
		if err := names(ctx, p, stdin, &out); err != nil {
			return err
		}
		return cli.Print(stdout, out.Bytes())
	}
	t, err := cli.Load(ctx, o.trace, stdin, stderr, &tracelayer.LoadOptions{AllowTruncated: o.truncated})
	if err != nil {
		return err
	}
	if len(t.Kernels) == 0 {
		cli.Notes(stderr, report.Warnings(t), nil)
		return fmt.Errorf("%s: %w", o.trace, tracelayer.ErrNoKernels)
	}
	c := report.NewClasses(t, p, o.unclassified)
	write := c.WriteText
	if o.json {
		write = c.WriteJSON
	}
	if err := write(&out); err != nil {
		return err
	}
	if err := cli.Print(stdout, out.Bytes()); err != nil {
		return err
	}
	cli.Notes(stderr, report.Warnings(t), c.Notes())
	return nil
}

// names classifies one name a line.
func names(ctx context.Context, p *tracelayer.Profile, in io.Reader, out *bytes.Buffer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxName)
	n := 0
	for lines.Scan() {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		n++
		name := strings.TrimSuffix(lines.Text(), "\r")
		c := tracelayer.Classify(p, name)
		fmt.Fprintf(out, "%s\t%s\t%s\n", c.Group, c.Key, report.Printable(name))
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("stdin: line %d: %w (a name may have %d bytes)", n+1, err, maxName)
	}
	return nil
}
