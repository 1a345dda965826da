package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	"github.com/tracelayer/tracelayer/internal/texttab"
)

// A UsageError is a wrong use of a command: exit code 2 and a hint at --help.
type UsageError struct{ Err error }

// Error is the text of Err.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *UsageError) Unwrap() error { return e.Err }

// Usagef is a UsageError with a formatted text.
func Usagef(format string, args ...any) error {
	return &UsageError{fmt.Errorf(format, args...)}
}

// answer is what --help or --version asks for. It ends the parsing as an error
// does, so that parsing never prints; see [Answer].
type answer string

func (a answer) Error() string { return "help or version asked for" }

// Answer is the text that --help or --version asks for, and whether err of
// [Flags.Parse] says that one of them was given.
func Answer(err error) (text []byte, ok bool) {
	a, ok := errors.AsType[answer](err)
	return []byte(a), ok
}

// Flags are the flags and operands of a command, in any order.
type Flags struct {
	*pflag.FlagSet
	name string
}

// NewFlags returns an empty set. Parse adds --version and --help to it.
func NewFlags(name string) *Flags {
	f := &Flags{FlagSet: pflag.NewFlagSet(name, pflag.ContinueOnError), name: name}
	f.SortFlags = false
	f.Usage = func() {} // pflag calls it, but parsing never prints
	return f
}

// Parse reads the arguments. Its error is a UsageError, or holds an [Answer],
// for which about is the text before the list of flags and after the text
// behind it.
func (f *Flags) Parse(args []string, about, after string) error {
	version := f.Bool("version", false, "print the version and exit")
	help := f.BoolP("help", "h", false, "print this text and exit")
	if err := f.FlagSet.Parse(args); err != nil {
		return &UsageError{err}
	}
	if *help {
		return answer(about + "\nFlags:\n" + f.list() + after)
	}
	if *version {
		return answer(f.name + " " + Version() + "\n")
	}
	return f.refuseEmpty()
}

// list is one line for each flag: name, value and what it does.
func (f *Flags) list() string {
	tab := texttab.New(texttab.Column{Gap: 2, Left: true}, texttab.Column{Gap: 2, Left: true})
	f.VisitAll(func(fl *pflag.Flag) {
		value, usage := pflag.UnquoteUsage(fl)
		name := "--" + fl.Name
		if fl.Value.Type() != "bool" {
			name += " " + value
		}
		if fl.Value.Type() == "string" && fl.DefValue != "" {
			usage += " (default " + fl.DefValue + ")"
		}
		tab.Row(name, usage)
	})
	return strings.Join(tab.Lines(), "\n") + "\n"
}

// refuseEmpty refuses a flag that is given as an empty word. A shell variable
// that is not set gives one, and the default would quietly stand in for it.
func (f *Flags) refuseEmpty() error {
	var err error
	f.Visit(func(fl *pflag.Flag) {
		if err == nil && fl.Value.Type() == "string" && fl.Value.String() == "" {
			err = Usagef("--%s is empty", fl.Name)
		}
	})
	return err
}

// Operands are the operands of a command that takes one or more: what says what
// they are.
func (f *Flags) Operands(what string) ([]string, error) {
	if f.NArg() == 0 {
		return nil, Usagef("missing argument: %s", what)
	}
	stdin := 0
	for _, name := range f.Args() {
		switch name {
		case "":
			return nil, Usagef("empty argument: %s", what)
		case "-":
			stdin++
		}
	}
	if stdin > 1 {
		return nil, Usagef("standard input (-) can be read only once")
	}
	return f.Args(), nil
}
