package cli

import (
	"os"
	"strings"

	"github.com/tracelayer/tracelayer"
)

// Profiles are the library's profiles, and those in the *.json files of dir if it
// is not empty.
func Profiles(dir string) (*tracelayer.ProfileSet, error) {
	if dir == "" {
		return tracelayer.Profiles(), nil
	}
	return tracelayer.ReadProfiles(os.DirFS(dir), "*.json")
}

// Profile is the profile of this name, or that of all families' rules if it is
// empty or any. That there is none is a UsageError which lists all.
func Profile(name, dir string) (*tracelayer.Profile, error) {
	set, err := Profiles(dir)
	if err != nil {
		return nil, err
	}
	if p, ok := set.Lookup(name); ok {
		return p, nil
	}
	if name == "" || name == "any" {
		return set.Any(), nil
	}
	var names []string
	for _, p := range set.All() {
		names = append(names, p.Name)
	}
	return nil, Usagef("--profile %s: no such profile; there are any, %s", name, strings.Join(names, ", "))
}
