package chrometrace

import (
	"math"
	"math/big"
	"testing"
)

func TestMicros(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   string
		want int64
		ok   bool
	}{
		{"0", 0, true},
		{"1", 1000, true},
		{"14.5", 14500, true},
		{"4909914216204.635", 4909914216204635, true},
		{"1767225600000001.102", 1767225600000001102, true},
		{"9223372036854775.807", math.MaxInt64, true},
		{"9223372036854775.808", 0, false},
		{"-350.5", -350500, true},
		{"-1", -1000, true},
		{"+2", 2000, true},
		{".5", 500, true},
		{"5.", 5000, true},
		{"1.0004", 1000, true},
		{"1.0005", 1001, true},
		{"-1.0005", -1001, true},
		{"0.9999999", 1000, true},
		{"0.0004999999", 0, true},
		{"1e3", 1000000, true},
		{"1.5E+2", 150000, true},
		{"15e-1", 1500, true},
		{"1e-9", 0, true},
		{"5e-4", 1, true},
		{"0e999999999999", 0, true},
		{"1e999999999999", 0, false},
		{"00012", 12000, true},
		{"1000000000000000000000", 0, false},
		{"", 0, false}, {"-", 0, false}, {".", 0, false}, {"1.2.3", 0, false}, {"1e", 0, false},
		{"nan", 0, false}, {"-inf", 0, false}, {"Infinity", 0, false}, {"1x", 0, false}, {" 1", 0, false}, {"--1", 0, false},
		{"true", 0, false}, {"0x10", 0, false},
	}
	for _, tt := range tests {
		got, ok := Micros([]byte(tt.in))
		if ok != tt.ok || ok && got != tt.want {
			t.Errorf("Micros(%q) = %d, %v, want %d, %v", tt.in, got, ok, tt.want, tt.ok)
		}
	}
}

func TestInteger(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]int64{"0": 0, "7": 7, "-1": -1, "9007199254740993": 9007199254740993, "9223372036854775807": math.MaxInt64} {
		if got, ok := Integer([]byte(in)); !ok || got != want {
			t.Errorf("Integer(%q) = %d, %v, want %d", in, got, ok, want)
		}
	}
	for _, in := range []string{"", "-", "1.0", "1e3", "x", "9223372036854775808", "--1", "+1"} {
		if got, ok := Integer([]byte(in)); ok {
			t.Errorf("Integer(%q) = %d, want none", in, got)
		}
	}
}

// FuzzMicros compares with arbitrary precision.
func FuzzMicros(f *testing.F) {
	for _, s := range []string{"1.5", "-0.0005", "123456789012345.678", "1e3", "9223372036854775.8075", "1e-3"} {
		f.Add(s)
	}
	thousand, half := big.NewRat(1000, 1), big.NewRat(1, 2)
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := Micros([]byte(s))
		if len(s) > 60 || !isNumber([]byte(s)) {
			return // ratios of huge exponents take forever
		}
		for i, c := range s {
			if (c == 'e' || c == 'E') && len(s)-i > 4 {
				return
			}
		}
		r, valid := new(big.Rat).SetString(s)
		if !valid {
			return
		}
		sign := r.Sign()
		r.Abs(r).Mul(r, thousand).Add(r, half)
		want := new(big.Int).Quo(r.Num(), r.Denom())
		if fits := want.IsInt64(); fits != ok {
			t.Fatalf("Micros(%q): ok %v, want %v", s, ok, fits)
		}
		if ok && got != int64(sign)*want.Int64() {
			t.Fatalf("Micros(%q) = %d, want %d * %v", s, got, sign, want)
		}
	})
}

// TestSpecial tries every byte at every place of a word.
func TestSpecial(t *testing.T) {
	t.Parallel()
	for c := range 256 {
		for at := range 8 {
			x := uint64('a') * ones
			x ^= uint64('a'^byte(c)) << (8 * at)
			m := special(x)
			want := c == '"' || c == '\\' || c < ' ' || c >= 0x80
			if (m != 0) != want || want && trailingBytes(m) != at {
				t.Errorf("byte %#x at %d: mask %#x", c, at, m)
			}
		}
	}
}
