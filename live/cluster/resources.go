package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"apfsim/document"
)

// GroupResource names a resource without a version. A resource may have a subresource, as in pods/status.
type GroupResource struct{ Group, Resource string }

// String returns the name as RBAC writes it: resource.group.
func (r GroupResource) String() string {
	if r.Group == "" {
		return r.Resource
	}
	return r.Resource + "." + r.Group
}

// Resource is a resource as the server serves it.
type Resource struct {
	Group, Version string // of the path
	APIVersion     string // of the objects that are sent to it; a subresource may have those of another group
	Kind           string
}

// ErrNoResources is wrapped by the error for resources that the server does not serve.
var ErrNoResources = errors.New("the server does not serve")

// apiVersions is a group and its versions, the preferred one first.
type apiVersions struct {
	PreferredVersion struct{ Version string }
	Versions         []struct{ Version string }
}

// apiResources are the resources of a version of a group.
type apiResources struct {
	Resources []struct{ Name, Group, Version, Kind string }
}

// Resources finds resources in the versions that the server prefers. The error names all that it does not
// serve, in the order in which they are wanted.
func (c *Cluster) Resources(ctx context.Context, wanted []GroupResource) (map[GroupResource]Resource, error) {
	found := map[GroupResource]Resource{}
	known := map[string][]GroupResource{} // what each group serves, in the order of the answers
	var missing []string
	for _, want := range wanted {
		if _, done := known[want.Group]; !done {
			served, err := c.served(ctx, want.Group, found)
			if err != nil {
				return nil, fmt.Errorf("the resources of the server cannot be listed: %w", err)
			}
			known[want.Group] = served
		}
		if _, ok := found[want]; ok {
			continue
		}
		var names []string
		for _, r := range known[want.Group] {
			names = append(names, r.Resource)
		}
		if text := fmt.Sprintf("%s%s", want, document.Suggest(want.Resource, names)); !slices.Contains(missing, text) {
			missing = append(missing, text)
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("%w %s", ErrNoResources, strings.Join(missing, ", "))
	}
	return found, nil
}

// served adds what a group serves to found. A resource is found in the first of its versions that has it.
func (c *Cluster) served(ctx context.Context, group string, found map[GroupResource]Resource) (served []GroupResource, err error) {
	versions, base := []string{"v1"}, []string{"api"}
	if group != "" {
		base = []string{"apis", group}
		var served apiVersions
		switch err := c.getJSON(ctx, &served, base...); {
		case HasStatus(err, http.StatusNotFound):
			return nil, nil
		case err != nil:
			return nil, err
		}
		versions = []string{served.PreferredVersion.Version}
		for _, v := range served.Versions {
			if v.Version != served.PreferredVersion.Version {
				versions = append(versions, v.Version)
			}
		}
	}
	for _, version := range versions {
		var list apiResources
		if err := c.getJSON(ctx, &list, append(slices.Clip(base), version)...); err != nil {
			return nil, err
		}
		for _, r := range list.Resources {
			name := GroupResource{group, r.Name}
			if _, ok := found[name]; ok {
				continue
			}
			served = append(served, name)
			found[name] = Resource{Group: group, Version: version, APIVersion: apiVersion(group, version, r.Group, r.Version), Kind: r.Kind}
		}
	}
	return served, nil
}

// apiVersion returns the version of a resource's objects: its own, or that of its list.
func apiVersion(group, version, ownGroup, ownVersion string) string {
	if ownVersion != "" {
		group, version = ownGroup, ownVersion
	}
	if group == "" {
		return version
	}
	return group + "/" + version
}
