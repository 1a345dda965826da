package tracelayer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-json"
)

// A Config is a model's config.json, in the form of Hugging Face's transformers:
// a flat object, or one that keeps the language model in text_config,
// language_config or llm_config. It never changes, so goroutines may share it.
type Config struct {
	// File is the name that was given to ReadConfig or ParseConfig.
	File string
	// ModelTypes are the values of model_type, the outermost first.
	ModelTypes []string
	// Architectures are the values of architectures, the outermost first.
	Architectures []string

	fields map[string]any // without nulls; those of the language model win
}

// nestedConfigs are the fields that hold the language model's own fields.
var nestedConfigs = []string{"text_config", "language_config", "llm_config"}

// maxConfig bounds the size of a config; real ones have some kilobytes.
const maxConfig = 64 << 20

// maxLayers bounds the number of layers that a config may name.
const maxLayers = 100_000

// ReadConfig reads a config.json. A file that cannot be opened gives the error of
// os.Open, anything else a *ConfigError.
func ReadConfig(file string) (*Config, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ParseConfig(f, file)
}

// ParseConfig reads a config.json from r; name stands for it in errors, which
// are *ConfigErrors. An empty object is a config that says nothing.
func ParseConfig(r io.Reader, name string) (*Config, error) {
	fail := func(field string, err error) (*Config, error) {
		return nil, &ConfigError{File: name, Field: field, Err: err}
	}
	data, err := io.ReadAll(io.LimitReader(r, maxConfig+1))
	if err != nil {
		return fail("", err)
	}
	if len(data) > maxConfig {
		return fail("", fmt.Errorf("more than %d bytes", maxConfig))
	}
	dec := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff"))))
	dec.UseNumber()
	var top map[string]any
	if err := dec.Decode(&top); err != nil {
		return fail("", fmt.Errorf("not a JSON object: %w", err))
	}
	if err := dec.Decode(new(json.RawMessage)); err != io.EOF {
		return fail("", errors.New("more than one JSON value"))
	}
	if top == nil {
		return fail("", errors.New("null instead of an object"))
	}
	c := &Config{File: name, fields: map[string]any{}}
	if field, err := c.flatten(top, "", 0); err != nil {
		return fail(field, err)
	}
	return c, nil
}

// flatten takes the fields of an object, then those of the objects nested in it.
func (c *Config) flatten(object map[string]any, path string, depth int) (string, error) {
	for key, v := range object {
		if v != nil {
			c.fields[key] = v
		}
	}
	if s, ok := object["model_type"].(string); ok {
		c.ModelTypes = append(c.ModelTypes, s)
	} else if object["model_type"] != nil {
		return path + "model_type", fmt.Errorf("%v is no string", object["model_type"])
	}
	switch v := object["architectures"].(type) {
	case nil:
	case []any:
		for _, a := range v {
			s, ok := a.(string)
			if !ok {
				return path + "architectures", fmt.Errorf("%v is no string", a)
			}
			c.Architectures = append(c.Architectures, s)
		}
	default:
		return path + "architectures", fmt.Errorf("%v is no list", v)
	}
	for _, key := range nestedConfigs {
		inner, ok := object[key].(map[string]any)
		if !ok {
			continue // some exports have null or a class name there
		}
		if depth == 4 {
			return path + key, errors.New("nested too deeply")
		}
		if field, err := c.flatten(inner, path+key+".", depth+1); err != nil {
			return field, err
		}
	}
	return "", nil
}

// Has reports whether the config has a field that is not null. A dot leads into
// an object: linear_attn_config.kda_layers.
func (c *Config) Has(field string) bool { return c.value(field) != nil }

// value returns a field's value, nil where the config has none or null.
func (c *Config) value(field string) any {
	if c == nil {
		return nil
	}
	fields := c.fields
	for {
		name, rest, deeper := strings.Cut(field, ".")
		v := fields[name]
		if !deeper {
			return v
		}
		inner, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		fields, field = inner, rest
	}
}

// first returns the first of the fields that the config has, "" if none.
func (c *Config) first(fields []string) string {
	for _, f := range fields {
		if c.Has(f) {
			return f
		}
	}
	return ""
}

// Int returns the first of the fields that the config has, if it is a whole
// number; the others are its other names.
func (c *Config) Int(fields ...string) (n int, ok bool) {
	f := c.first(fields)
	if f == "" {
		return 0, false
	}
	n, err := wholeNumber(c.value(f))
	return n, err == nil
}

// Text returns the first of the fields that the config has, as it would stand in
// JSON, a string without its quotes; "" if it has none.
func (c *Config) Text(fields ...string) string {
	f := c.first(fields)
	if f == "" {
		return ""
	}
	return textOf(c.value(f))
}

// Name is the model's name: _name_or_path, else the first architecture, else the
// first model_type, else "".
func (c *Config) Name() string {
	if s := c.Text("_name_or_path"); s != "" {
		return s
	}
	for _, list := range [][]string{c.Architectures, c.ModelTypes} {
		if len(list) > 0 {
			return list[0]
		}
	}
	return ""
}

func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

// wholeNumber reads a whole number of a size that fields of a config can have.
func wholeNumber(v any) (int, error) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, fmt.Errorf("%s is no number", textOf(v))
	}
	if i, err := strconv.Atoi(n.String()); err == nil {
		return i, nil
	}
	f, err := strconv.ParseFloat(n.String(), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, fmt.Errorf("%s is no whole number", n)
	}
	return int(f), nil
}

// list returns a field's list, and nil where the config does not have it.
func (c *Config) list(field string) ([]any, error) {
	switch v := c.value(field).(type) {
	case nil:
		return nil, nil
	case []any:
		return v, nil
	default:
		return nil, c.fail(field, fmt.Errorf("%s is no list", textOf(v)))
	}
}

// count returns what a field says of how many there are: a number, or the length
// of a list or a string.
func (c *Config) count(field string) (int, error) {
	var n int
	var err error
	switch v := c.value(field).(type) {
	case string:
		n = len(v)
	case []any:
		n = len(v)
	default:
		n, err = wholeNumber(v)
	}
	if err == nil && (n < 1 || n > maxLayers) {
		err = fmt.Errorf("%d layers", n)
	}
	if err != nil {
		return 0, c.fail(field, err)
	}
	return n, nil
}

func (c *Config) fail(field string, err error) error {
	return &ConfigError{File: c.File, Field: field, Err: err}
}

// Layers returns the number of layers of a model of this profile, and
// ErrNoLayers, in a *ConfigError, if the config does not say.
func (p *Profile) Layers(c *Config) (int, error) {
	fields := p.layerCount
	if len(fields) == 0 {
		fields = []string{"num_hidden_layers", "n_layer", "num_layers"}
	}
	f := c.first(fields)
	if f == "" {
		if c == nil {
			return 0, ErrNoLayers
		}
		return 0, c.fail(strings.Join(fields, " or "), fmt.Errorf("%w: the config does not have it", ErrNoLayers))
	}
	return c.count(f)
}

// A LayerType says what kind of layer the config makes of a layer.
type LayerType struct {
	// Attention is the kind of the layer's attention, or of what it has instead:
	// CSA_C4, KDA, SLIDING, MAMBA. ATTN where the config tells no kinds apart.
	Attention string
	// Additions never replace the attention: HASH, DENSE, MOE.
	Additions []string
	// Roles are what the layer does for others: KV_SOURCE, ENGRAM.
	Roles []string
	// Ratio is the layer's entry of compress_ratios, -1 if the config has none.
	Ratio int
	// First and Last tell the first and the last layer of the model.
	First, Last bool
}

// Cluster is the layer's kind: attention and additions, without its place.
func (l LayerType) Cluster() string {
	return strings.Join(append([]string{l.Attention}, l.Additions...), "+")
}

// String is the cluster with +FIRST and +FINAL.
func (l LayerType) String() string {
	s := l.Cluster()
	if l.First {
		s += "+FIRST"
	}
	if l.Last {
		s += "+FINAL"
	}
	return s
}

// LayerTypes returns the type of each layer of a model of this profile, as the
// config tells it. A list of the config that has another length than the model
// has layers is a *ConfigError, but for compress_ratios, whose first entries
// count: its surplus, one entry or three, belongs to draft layers.
func (p *Profile) LayerTypes(c *Config) ([]LayerType, error) {
	n, err := p.Layers(c)
	if err != nil {
		return nil, err
	}
	types := make([]LayerType, n)
	for i := range types {
		types[i] = LayerType{Attention: "ATTN", Ratio: -1, First: i == 0, Last: i == n-1}
	}
	if f := "compress_ratios"; c.Has(f) {
		ratios, err := c.layerList(f, n, ratioSurplus)
		if err != nil {
			return nil, err
		}
		for i, v := range ratios {
			if types[i].Ratio, err = wholeNumber(v); err != nil {
				return nil, c.fail(fmt.Sprintf("%s[%d]", f, i), err)
			}
		}
	}
	for _, r := range p.attentionTypes {
		names, err := r.names(c, n)
		if err != nil {
			return nil, err
		}
		if names != nil {
			for i, name := range names {
				types[i].Attention = name
			}
			break
		}
	}
	for _, r := range p.additions {
		names, err := r.names(c, n)
		if err != nil {
			return nil, err
		}
		for i, name := range names {
			if name != "" {
				types[i].Additions = append(types[i].Additions, name)
			}
		}
	}
	for _, r := range p.roles {
		names, err := r.names(c, n)
		if err != nil {
			return nil, err
		}
		for i, name := range names {
			if name != "" {
				types[i].Roles = append(types[i].Roles, name)
			}
		}
	}
	return types, nil
}

// ratioSurplus are how many entries more than layers compress_ratios may have.
var ratioSurplus = []int{0, 1, 3}

// layerList returns the first n entries of a list that has one for each layer,
// and a surplus of one of the lengths.
func (c *Config) layerList(field string, n int, surplus []int) ([]any, error) {
	list, err := c.list(field)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(surplus, len(list)-n) {
		return nil, c.fail(field, fmt.Errorf("%d entries for %d layers", len(list), n))
	}
	return list[:n], nil
}

// A layerRule names some layers of a model, by a field of its config.
type layerRule struct {
	fields []string // the field and its other names; the first that is there counts
	by     string   // one of ruleKinds
	base   int      // of the numbers in a list of layers
	values map[string]string
	name   string // of the layers that the field means
	others string // of the other layers, often "", and the beginning of a name for a value that is not in values
	unless string // a field: the rule does not apply where the config has it
	with   string // a value: the rule applies to lists that hold it only
}

// ruleKinds are the ways in which a field can say something of layers.
var ruleKinds = []string{"list", "letters", "ids", "first", "last", "every", "flag", "topk_freq", "always"}

// names returns the name that the rule gives each of n layers, nil if the config
// does not have the field.
func (r *layerRule) names(c *Config, n int) ([]string, error) {
	f := c.first(r.fields)
	if f == "" && r.by != "always" || r.unless != "" && c.Has(r.unless) {
		return nil, nil
	}
	names := make([]string, n)
	for i := range names {
		names[i] = r.others
	}
	switch r.by {
	case "always":
		for i := range names {
			names[i] = r.name
		}
	case "list":
		surplus := []int{0}
		if f == "compress_ratios" {
			surplus = ratioSurplus
		}
		list, err := c.layerList(f, n, surplus)
		if err != nil {
			return nil, err
		}
		held := r.with == ""
		for i, v := range list {
			names[i] = r.valueName(textOf(v))
			held = held || textOf(v) == r.with
		}
		if !held {
			return nil, nil
		}
	case "letters":
		s, ok := c.value(f).(string)
		if !ok || len(s) != n {
			return nil, c.fail(f, fmt.Errorf("%s is no string of %d letters, one for each layer", textOf(c.value(f)), n))
		}
		for i := range n {
			names[i] = r.valueName(s[i : i+1])
		}
	case "ids":
		ids, err := c.ids(f)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			if id -= r.base; id < 0 || id >= n {
				return nil, c.fail(f, fmt.Errorf("layer %d, counted from %d, of %d", id+r.base, r.base, n))
			}
			names[id] = r.name
		}
	case "flag":
		if on, ok := c.value(f).(bool); !ok {
			return nil, c.fail(f, fmt.Errorf("%s is neither true nor false", textOf(c.value(f))))
		} else if !on {
			return nil, nil
		}
		for i := range names {
			names[i] = r.name
		}
	default:
		k, err := wholeNumber(c.value(f))
		if err != nil {
			return nil, c.fail(f, err)
		}
		if k < 0 || k == 0 && r.by == "every" {
			return nil, c.fail(f, fmt.Errorf("%d", k))
		}
		offset := 0
		if r.by == "topk_freq" {
			offset, _ = c.Int("index_skip_topk_offset")
		}
		for i := range names {
			if r.means(i, n, k, offset) {
				names[i] = r.name
			}
		}
	}
	return names, nil
}

// means reports whether a field with the value k means layer i of n.
func (r *layerRule) means(i, n, k, offset int) bool {
	switch r.by {
	case "first":
		return i < k
	case "last":
		return i >= n-k
	case "every":
		return (i+1)%k == 0
	default: // topk_freq: SGLang's rule for layers that use another layer's top-k
		return k > 0 && max(i-offset+1, 0)%k != 0
	}
}

// valueName returns the name for a value of a list. One that the rule does not
// know keeps its own, so that no layer is put among others.
func (r *layerRule) valueName(v string) string {
	if name, ok := r.values[v]; ok {
		return name
	}
	return strings.ToUpper(r.others + printable(v))
}

// ids returns the numbers of a field: a list of them, or one.
func (c *Config) ids(field string) ([]int, error) {
	list, ok := c.value(field).([]any)
	if !ok {
		list = []any{c.value(field)}
	}
	ids := make([]int, len(list))
	for i, v := range list {
		var err error
		if ids[i], err = wholeNumber(v); err != nil {
			return nil, c.fail(fmt.Sprintf("%s[%d]", field, i), err)
		}
	}
	return ids, nil
}
