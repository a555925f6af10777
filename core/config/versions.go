package config

import "apfsim/core/rules"

// The names of the field with the shares of a Limited level.
const (
	nominalShares = "nominalConcurrencyShares"
	assuredShares = "assuredConcurrencyShares"
)

// sharesField returns the name of the field with the shares of a Limited level in an API version.
func sharesField(v rules.APIVersion) string {
	if v <= rules.V1beta2 {
		return assuredShares
	}
	return nominalShares
}

// fullName returns the name of an API version with its group.
func fullName(v rules.APIVersion) string { return group + "/" + v.String() }

// apiVersionNames are the full names of the API versions, the newest first.
var apiVersionNames = []string{fullName(rules.V1), fullName(rules.V1beta3), fullName(rules.V1beta2), fullName(rules.V1beta1), fullName(rules.V1alpha1)}

// apiVersionOf returns the API version with a full name, which must be one of apiVersionNames.
func apiVersionOf(fullName string) rules.APIVersion {
	for i, name := range apiVersionNames {
		if name == fullName {
			return rules.V1 - rules.APIVersion(i)
		}
	}
	panic("config: no API version has the name " + fullName)
}

// ServedVersions returns the full names of the API versions that a server of the release serves, the
// newest first.
func ServedVersions(r *rules.Rules) (names []string) {
	for _, name := range apiVersionNames {
		if r.Objects.Serves(apiVersionOf(name)) {
			names = append(names, name)
		}
	}
	return names
}

// RemovedIn returns the first release that does not serve the API version with a full name any more; "" if the newest
// release serves it.
func RemovedIn(fullName string) string {
	_, removedIn := apiVersionOf(fullName).Served()
	return removedIn
}
