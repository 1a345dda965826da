package tracelayer

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Class is what a kernel does, as far as its name tells.
type Class struct {
	Key   string // machine name of the rule that matched, "other" for none
	Label string // short name for tables
	Group string // coarse category, such as "attention", "gemm_bf16", "comm"
}

// maxLabel is the length of a simplified name, in runes. It is what a column of
// a kernel table holds.
const maxLabel = 40

// Classify says what the kernel of this name does. The rules of p are tried
// first, then those that hold for every model, whose classes p may take together
// as categories of its own; the first match wins. A nil p and a bare anchor have
// neither. Where nothing matches, Key and Group are "other" and Label is the
// simplified name. Label has no control characters and is never empty.
//
// The answer depends on p and name only. It costs a few microseconds: classify
// distinct names, not kernels.
func Classify(p *Profile, name string) Class {
	n := parseName(name)
	if p != nil {
		if c, ok := classify(p.rules, &n); ok {
			return c
		}
	}
	if c, ok := classify(commonProfile().rules, &n); ok {
		return p.categorize(c)
	}
	c := Class{Key: "other", Label: Simplify(p, name), Group: "other"}
	if name == "" {
		c.Label = "(unnamed)"
	}
	return c
}

// categorize puts a class of the common rules into the profile's category.
func (p *Profile) categorize(c Class) Class {
	if p != nil {
		for i := range p.categories {
			if g := &p.categories[i]; g.takes(c.Key) {
				c.Key, c.Label = g.key, g.label
				break
			}
		}
	}
	return c
}

// classes are the classes of all names of a trace, by NameID.
func classes(t *Trace, p *Profile) []Class {
	all := make([]Class, len(t.Names))
	for i, name := range t.Names {
		all[i] = Classify(p, name)
	}
	return all
}

// classify returns the class of the first rule that matches.
func classify(rules []rule, n *kernelName) (Class, bool) {
	for i := range rules {
		if rules[i].matches(n) {
			c := rules[i].class
			if c.Label == "" {
				c.Label = Simplify(nil, n.full.asIs)
			}
			return c, true
		}
	}
	return Class{}, false
}

// A text is a string, as it is and in lower case, each with its signature. They
// are made when the first rule asks for them: names can be long.
type text struct {
	asIs, lower   string
	sig, lowerSig signature
	signed, low   bool // sig is made; lower and lowerSig are
}

// form returns the string that a condition looks at, and its signature.
func (t *text) form(fold bool) (string, *signature) {
	if !fold {
		if !t.signed {
			t.sig, t.signed = newSignature(t.asIs), true
		}
		return t.asIs, &t.sig
	}
	if !t.low {
		t.lower, t.low = strings.ToLower(t.asIs), true
		t.lowerSig = newSignature(t.lower)
	}
	return t.lower, &t.lowerSig
}

// A kernelName is a kernel's name, taken apart as far as rules look at it.
type kernelName struct {
	full text // as in the trace, without the suffixes of an object file
	path text // namespaces and base name: no return type, template arguments or parameters
	last int  // where the last component of path begins, behind its leading underscores
}

func parseName(name string) kernelName {
	name = trimObjectSuffix(name)
	path, last := name, 0
	if comps := components(name); len(comps) > 0 {
		path = strings.Join(comps, "::")
		base := strings.TrimLeft(comps[len(comps)-1], "_")
		last = len(path) - len(base)
	}
	return kernelName{full: text{asIs: name}, path: text{asIs: path}, last: last}
}

// trimObjectSuffix drops what ROCm appends to the name of a kernel's descriptor:
// one trace can hold the same kernel with and without it.
func trimObjectSuffix(name string) string {
	for {
		short := strings.TrimSuffix(strings.TrimSpace(name), ".kd")
		if strings.HasSuffix(short, "]") {
			if i := strings.LastIndex(short, " [clone "); i > 0 {
				short = short[:i]
			}
		}
		if short == name || short == "" {
			return name
		}
		name = short
	}
}

// Simplify returns a readable short form of a kernel's name: no leading "void ",
// no template arguments and parameters, a mangled name as far as its base, few
// namespaces, at most 40 characters (the middle of a longer name gives way to
// "…"). A template that only launches the kernel named in its arguments, such as
// cutlass::device_kernel, gives way to that kernel. Then come the replacements of
// p, if it has any; p may be nil. The result is valid UTF-8 without control
// characters, and empty only if name is.
func Simplify(p *Profile, name string) string {
	short := trimObjectSuffix(name)
	if strings.HasPrefix(short, "Cijk_") {
		short = simplifyTensile(short)
	} else if comps := components(short); len(comps) > 0 {
		short = joinPath(comps)
	}
	if p != nil {
		for _, r := range p.simplify {
			short = strings.ReplaceAll(short, r.Old, r.New)
		}
	}
	short = printable(short)
	if short == "" && name != "" {
		short = "?" // the name is all blanks, or the profile leaves nothing of it
	}
	return cutMiddle(short, maxLabel)
}

// simplifyTensile keeps what tells one rocBLAS GEMM from another at a glance: the
// layouts and types in front, and the macro tile, far behind.
func simplifyTensile(name string) string {
	head, rest, ok := strings.Cut(name, "_MT")
	if !ok {
		return name
	}
	tile, _, _ := strings.Cut(rest, "_")
	parts := strings.SplitN(head, "_", 5)
	return strings.Join(parts[:min(4, len(parts))], "_") + "_MT" + tile
}

// plainNamespaces say nothing to a reader of a table.
var plainNamespaces = map[string]bool{
	"at": true, "at_cuda_detail": true, "cuda": true, "detail": true,
	"device": true, "impl": true, "internal": true, "kernel": true,
	"kernels": true, "native": true, "std": true, "tensor_operation": true,
}

// joinPath joins a base name with as many of its namespaces as fit: all that say
// something, else the outermost, else none.
func joinPath(comps []string) string {
	base := comps[len(comps)-1]
	var spaces []string
	for _, c := range comps[:len(comps)-1] {
		if !plainNamespaces[c] {
			spaces = append(spaces, c)
		}
	}
	if len(spaces) == 0 {
		return base
	}
	all := strings.Join(spaces, "::") + "::" + base
	if utf8.RuneCountInString(all) <= maxLabel {
		return all
	}
	if outer := spaces[0] + "::" + base; utf8.RuneCountInString(outer) <= maxLabel {
		return outer
	}
	return base
}

// printable replaces what is not UTF-8 and what cannot be printed, such as
// control bytes and marks that turn the direction of the text.
func printable(s string) string {
	s = strings.TrimSpace(strings.ToValidUTF8(s, "\uFFFD"))
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}

// cutMiddle shortens s to n runes. Both ends stay: kernels of one family differ
// in their last part as often as in the first.
func cutMiddle(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	r := []rune(s)
	tail := (n - 1) / 3
	return string(r[:n-1-tail]) + "…" + string(r[len(r)-tail:])
}

// components splits a name into namespaces and base name, which is last. The
// result is empty if there is nothing of the kind in the name.
func components(name string) []string {
	return componentsDepth(name, 0)
}

// componentsDepth is components for a kernel found depth launchers deep.
func componentsDepth(name string, depth int) []string {
	var comps []string
	var inner string // first argument of the base's template that names a type
	if m, ok := parseMangled(name); ok {
		comps, inner = m.comps, m.args
	} else {
		d := parseDemangled(name)
		comps, inner = d.comps, firstTypeArg(d.args)
	}
	if depth < maxLaunchers && len(comps) > 0 && inner != "" && isLauncher(comps[len(comps)-1]) {
		if in := componentsDepth(inner, depth+1); len(in) > 0 {
			return in
		}
	}
	if n := len(comps); n > 0 {
		// The CuTe DSL appends the types of all arguments to the name.
		if base, _, ok := strings.Cut(comps[n-1], "_object_at_"); ok && base != "" {
			comps[n-1] = base
		}
	}
	return comps
}

// maxLaunchers bounds how many launchers may be nested in each other.
const maxLaunchers = 3

// isLauncher reports whether a template of this name runs the kernel that its
// argument names, so that its own name says nothing.
func isLauncher(base string) bool {
	switch base {
	case "device_kernel", "kentry", "Kernel", "Kernel2":
		return true
	}
	return strings.HasPrefix(base, "enable_sm")
}

// A parsedName is a path and the template arguments of its base name, as text.
type parsedName struct {
	comps []string
	args  string
}

// parseDemangled reads a demangled name, or a plain one such as a Triton
// function's, up to its parameters. It never fails: what it cannot make sense of
// stays part of the name.
func parseDemangled(s string) parsedName {
	s = strings.TrimPrefix(s, "void ")
	var p parsedName
	var comp []byte
	push := func() {
		if c := strings.TrimSpace(string(comp)); c != "" {
			p.comps = append(p.comps, c)
		}
		comp = comp[:0]
	}
	bracket := -1 // the first opening bracket at or after i
	for i := 0; i < len(s); {
		if bracket < i {
			bracket = indexBracket(s, i)
		}
		switch c := s[i]; {
		case c == ':' && strings.HasPrefix(s[i:], "::"):
			push()
			i += 2
		case c == '(' && string(comp) == "operator":
			comp = append(comp, "()"...)
			i = closeParen(s, i) + 1
		case (c == '(' || c == '<') && isUnnamed(s[i:]):
			i += strings.IndexAny(s[i:], ")>") + 1
		case c == '(' || c == '[':
			i = len(s) // parameters, or a note on a clone
		case c == '<' && string(comp) != "operator":
			end := closeAngle(s, i)
			p.args = s[i+1 : end]
			i = end + 1
		case c == ' ' && (isUnnamed(s[i+1:]) || i+1 < bracket && bracket < len(s) && s[bracket-1] != ' '):
			// A function's name follows, so what came before was its return type.
			// In "Memcpy DtoD (Device -> Device)" no bracket touches a word.
			p, comp = parsedName{}, comp[:0]
			i++
		default:
			comp = append(comp, c)
			i++
		}
	}
	push()
	return p
}

// isUnnamed reports whether s begins with one of the spellings of a namespace
// without a name.
func isUnnamed(s string) bool {
	return strings.HasPrefix(s, "(anonymous namespace)") || strings.HasPrefix(s, "<unnamed>")
}

// indexBracket returns the index of the first opening bracket of s at or after i,
// or len(s).
func indexBracket(s string, i int) int {
	if n := strings.IndexAny(s[i:], "(<"); n >= 0 {
		return i + n
	}
	return len(s)
}

// closeParen returns the index of the parenthesis that closes the one at i, or
// the last index of s if none does.
func closeParen(s string, i int) int {
	depth := 0
	for ; i < len(s); i++ {
		switch s[i] {
		case '(':
			depth++
		case ')':
			depth--
			if depth == 0 {
				return i
			}
		}
	}
	return len(s) - 1
}

// closeAngle returns the index of the bracket that closes the one at i, or len(s)
// if none does: traces cut long names. Brackets within parentheses are
// comparisons, and the one of an arrow is none.
func closeAngle(s string, i int) int {
	depth := 0
	for ; i < len(s); i++ {
		switch s[i] {
		case '(':
			i = closeParen(s, i)
		case '<':
			depth++
		case '>':
			if s[i-1] == '-' {
				continue
			}
			depth--
			if depth == 0 {
				return i
			}
		}
	}
	return len(s)
}

// firstTypeArg returns the first template argument that names a type that is not
// built in, or "".
func firstTypeArg(args string) string {
	for args != "" {
		arg := args
		rest := ""
		for i := 0; i < len(args); i++ {
			if args[i] == '<' {
				i = min(closeAngle(args, i), len(args)-1)
			} else if args[i] == '(' {
				i = closeParen(args, i)
			} else if args[i] == ',' {
				arg, rest = args[:i], args[i+1:]
				break
			}
		}
		arg = strings.TrimSpace(arg)
		if arg != "" && (arg[0] == '_' || unicode.IsLetter(rune(arg[0]))) && !builtinTypes[arg] {
			return arg
		}
		args = rest
	}
	return ""
}

var builtinTypes = map[string]bool{
	"bool": true, "char": true, "double": true, "float": true, "half": true,
	"int": true, "long": true, "short": true, "unsigned": true, "unsigned int": true,
	"unsigned char": true, "unsigned long": true, "void": true, "true": true, "false": true,
}

// parseMangled reads the names of a mangled name (Itanium C++ ABI) up to the
// template arguments of the first that has any, which is the base name of every
// kernel template. It decodes no types.
func parseMangled(s string) (parsedName, bool) {
	rest, ok := strings.CutPrefix(s, "_Z")
	if !ok {
		return parsedName{}, false
	}
	p, rest := mangledPath(rest)
	if args, ok := strings.CutPrefix(rest, "I"); ok {
		p.args = mangledTypeArg(args)
	}
	return p, len(p.comps) > 0
}

// mangledPath reads a name, nested or not, and returns what follows it.
func mangledPath(s string) (parsedName, string) {
	var p parsedName
	s = strings.TrimLeft(s, "ZNKVrL")
	for s != "" {
		if id, rest, ok := sourceName(s); ok {
			if !strings.HasPrefix(id, "_GLOBAL__N_") {
				p.comps = append(p.comps, id)
			}
			s = rest
			continue
		}
		switch s[0] {
		case 'L': // internal linkage
			s = s[1:]
		case 'S': // a substitution: S_, S1_, or St for std
			s = skipSubstitution(s)
		default:
			return p, s
		}
	}
	return p, s
}

// mangledTypeArg returns the first template argument that is a named type, in
// mangled form, so that parseMangled can read it.
func mangledTypeArg(s string) string {
	for s != "" {
		switch c := s[0]; {
		case c == 'N' || '1' <= c && c <= '9':
			return "_Z" + s
		case c == 'L': // a value: Li256E, Lb1E
			end := strings.IndexByte(s, 'E')
			if end < 0 {
				return ""
			}
			s = s[end+1:]
		case c == 'S':
			s = skipSubstitution(s)
		case c == 'D' && len(s) > 1: // a built-in type of more letters: Dh, DF16b, DF16_
			vendor := s[1] == 'F'
			if s = s[2:]; vendor {
				s = strings.TrimLeft(s, "0123456789_b")
			}
		case 'a' <= c && c <= 'z':
			s = s[1:]
		default:
			return ""
		}
	}
	return ""
}

// sourceName reads an identifier with its length in front: 3foo. One that ends
// too early is what a tool left of a long name.
func sourceName(s string) (id, rest string, ok bool) {
	n, i := 0, 0
	for i < len(s) && '0' <= s[i] && s[i] <= '9' {
		n = min(10*n+int(s[i]-'0'), len(s))
		i++
	}
	n = min(n, len(s)-i)
	return s[i : i+n], s[i+n:], n > 0
}

// skipSubstitution returns what follows the substitution at the start of s.
func skipSubstitution(s string) string {
	if len(s) > 1 && 'a' <= s[1] && s[1] <= 'z' {
		return s[2:]
	}
	_, rest, _ := strings.Cut(s, "_")
	return rest
}
