package change

import (
	"strings"

	"apfsim/sim/api"
)

// Strategy holds the rules that kube-apiserver has for a kind of object (pkg/registry of
// k8s.io/kubernetes, the strategies).
type Strategy struct {
	Unconditional bool   // an update without a version overwrites (AllowUnconditionalUpdate)
	Creates       bool   // an update creates the object if it is missing (AllowCreateOnUpdate)
	Graceful      bool   // it is given time to end (CheckGracefulDelete)
	Events        bool   // has no watch cache (core/v1 and events.k8s.io)
	Returns       bool   // a deletion is answered with the object (ReturnDeletedObject)
	Custom        bool   // a CustomResourceDefinition defines it: it has no protobuf, see custom
	Index         string // the field by which the watch cache has an index
}

// conditional are the resources whose updates must say which version they change. All custom resources are
// among them, see custom.
var conditional = map[api.Resource]bool{
	{Group: "coordination.k8s.io", Name: "leases"}:                       true,
	{Group: "coordination.k8s.io", Name: "leasecandidates"}:              true,
	{Group: "policy", Name: "poddisruptionbudgets"}:                      true,
	{Group: "node.k8s.io", Name: "runtimeclasses"}:                       true,
	{Group: "storage.k8s.io", Name: "csidrivers"}:                        true,
	{Group: "storage.k8s.io", Name: "csinodes"}:                          true,
	{Group: "storage.k8s.io", Name: "csistoragecapacities"}:              true,
	{Group: "storage.k8s.io", Name: "volumeattachments"}:                 true,
	{Group: "internal.apiserver.k8s.io", Name: "storageversions"}:        true,
	{Group: "storagemigration.k8s.io", Name: "storageversionmigrations"}: true,
	{Group: "certificates.k8s.io", Name: "clustertrustbundles"}:          true,
	{Group: "certificates.k8s.io", Name: "podcertificaterequests"}:       true,
	{Group: "scheduling.k8s.io", Name: "workloads"}:                      true,
	{Group: "scheduling.k8s.io", Name: "podgroups"}:                      true,
	{Group: "scheduling.k8s.io", Name: "compositepodgroups"}:             true,
	{Group: "resource.k8s.io", Name: "resourcepoolstatusrequests"}:       true,
	{Group: "lifecycle.k8s.io", Name: "evictions"}:                       true,
	{Group: "lifecycle.k8s.io", Name: "evictionrequests"}:                true,
	{Group: "apiextensions.k8s.io", Name: "customresourcedefinitions"}:   true,
	{Group: "apiregistration.k8s.io", Name: "apiservices"}:               true,
}

// creatable are the resources whose updates create what is missing.
var creatable = map[api.Resource]bool{
	{Group: "coordination.k8s.io", Name: "leases"}:          true,
	{Group: "coordination.k8s.io", Name: "leasecandidates"}: true,
	{Name: "events"}:                                                  true,
	{Group: "events.k8s.io", Name: "events"}:                          true,
	{Name: "services"}:                                                true,
	{Name: "endpoints"}:                                               true,
	{Name: "limitranges"}:                                             true,
	{Group: "node.k8s.io", Name: "runtimeclasses"}:                    true,
	{Group: "rbac.authorization.k8s.io", Name: "roles"}:               true,
	{Group: "rbac.authorization.k8s.io", Name: "clusterroles"}:        true,
	{Group: "rbac.authorization.k8s.io", Name: "rolebindings"}:        true,
	{Group: "rbac.authorization.k8s.io", Name: "clusterrolebindings"}: true,
}

// returning are the resources whose deletions are answered with the object.
var returning = map[api.Resource]bool{
	{Name: "namespaces"}:                                           true,
	{Name: "persistentvolumeclaims"}:                               true,
	{Name: "persistentvolumes"}:                                    true,
	{Name: "pods"}:                                                 true,
	{Name: "podtemplates"}:                                         true,
	{Name: "resourcequotas"}:                                       true,
	{Name: "serviceaccounts"}:                                      true,
	{Name: "services"}:                                             true,
	{Group: "resource.k8s.io", Name: "deviceclasses"}:              true,
	{Group: "resource.k8s.io", Name: "resourceclaims"}:             true,
	{Group: "resource.k8s.io", Name: "resourceclaimtemplates"}:     true,
	{Group: "resource.k8s.io", Name: "resourcepoolstatusrequests"}: true,
	{Group: "resource.k8s.io", Name: "resourceslices"}:             true,
	{Group: "storage.k8s.io", Name: "csidrivers"}:                  true,
	{Group: "storage.k8s.io", Name: "csinodes"}:                    true,
	{Group: "storage.k8s.io", Name: "storageclasses"}:              true,
	{Group: "storage.k8s.io", Name: "volumeattachments"}:           true,
	{Group: "storage.k8s.io", Name: "volumeattributesclasses"}:     true,
}

// clusterScoped are the names of the usual resources without namespaces.
var clusterScoped = map[string]bool{
	"nodes": true, "namespaces": true, "persistentvolumes": true, "clusterroles": true, "clusterrolebindings": true,
	"customresourcedefinitions": true, "apiservices": true, "storageclasses": true, "csinodes": true, "csidrivers": true,
	"volumeattachments": true, "priorityclasses": true, "runtimeclasses": true, "ingressclasses": true,
	"certificatesigningrequests": true, "flowschemas": true, "prioritylevelconfigurations": true,
	"validatingwebhookconfigurations": true, "mutatingwebhookconfigurations": true, "resourceslices": true,
}

// builtInGroups are the API groups of kube-apiserver that do not end in .k8s.io.
var builtInGroups = map[string]bool{"": true, "apps": true, "batch": true, "autoscaling": true, "policy": true, "extensions": true}

// custom says whether a resource is defined by a CustomResourceDefinition. Groups of Kubernetes' own end in
// .k8s.io, too, where other projects of it define resources; those are rare enough.
func custom(r api.Resource) bool {
	return !builtInGroups[r.Group] && !strings.HasSuffix(r.Group, ".k8s.io")
}

// StrategyOf returns the strategy of a resource.
func StrategyOf(r api.Resource) Strategy {
	s := Strategy{
		Unconditional: !conditional[r] && !custom(r) && r.Group != "admissionregistration.k8s.io",
		Creates:       creatable[r],
		Returns:       returning[r],
		Custom:        custom(r),
		Events:        r.Name == "events" && (r.Group == "" || r.Group == "events.k8s.io"),
	}
	switch r {
	case api.Resource{Name: "pods"}:
		s.Graceful, s.Index = true, NodeField
	case api.Resource{Group: "resource.k8s.io", Name: "resourceslices"}:
		s.Index = NodeField
	}
	return s
}

// IsClusterScoped says whether the objects of a resource have no namespaces, for the usual resources.
func IsClusterScoped(r api.Resource) bool { return clusterScoped[r.Name] }
