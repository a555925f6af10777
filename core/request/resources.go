package request

import (
	"slices"
	"strings"
)

// Resource is a resource that Kubernetes 1.37 serves by itself, without a custom resource
// definition or an aggregated server.
type Resource struct {
	Group, Name, Kind string
	ShortNames        []string
	Cluster           bool // the resource is cluster-scoped
}

// builtin are the resources of Kubernetes 1.37, one on a line: group, resource, kind, short
// names, and "cluster" if the resource is cluster-scoped. The core group is written as /. Of
// several groups with the same resource, the first is the one that kubectl uses.
var builtin = parseBuiltin(`
/ bindings Binding
/ componentstatuses ComponentStatus cs cluster
/ configmaps ConfigMap cm
/ endpoints Endpoints ep
/ events Event ev
/ limitranges LimitRange limits
/ namespaces Namespace ns cluster
/ nodes Node no cluster
/ persistentvolumeclaims PersistentVolumeClaim pvc
/ persistentvolumes PersistentVolume pv cluster
/ pods Pod po
/ podtemplates PodTemplate
/ replicationcontrollers ReplicationController rc
/ resourcequotas ResourceQuota quota
/ secrets Secret
/ serviceaccounts ServiceAccount sa
/ services Service svc
admissionregistration.k8s.io mutatingadmissionpolicies MutatingAdmissionPolicy cluster
admissionregistration.k8s.io mutatingadmissionpolicybindings MutatingAdmissionPolicyBinding cluster
admissionregistration.k8s.io mutatingwebhookconfigurations MutatingWebhookConfiguration cluster
admissionregistration.k8s.io validatingadmissionpolicies ValidatingAdmissionPolicy cluster
admissionregistration.k8s.io validatingadmissionpolicybindings ValidatingAdmissionPolicyBinding cluster
admissionregistration.k8s.io validatingwebhookconfigurations ValidatingWebhookConfiguration cluster
apiextensions.k8s.io customresourcedefinitions CustomResourceDefinition crd crds cluster
apiregistration.k8s.io apiservices APIService cluster
apps controllerrevisions ControllerRevision
apps daemonsets DaemonSet ds
apps deployments Deployment deploy
apps replicasets ReplicaSet rs
apps statefulsets StatefulSet sts
authentication.k8s.io selfsubjectreviews SelfSubjectReview cluster
authentication.k8s.io tokenreviews TokenReview cluster
authorization.k8s.io localsubjectaccessreviews LocalSubjectAccessReview
authorization.k8s.io selfsubjectaccessreviews SelfSubjectAccessReview cluster
authorization.k8s.io selfsubjectrulesreviews SelfSubjectRulesReview cluster
authorization.k8s.io subjectaccessreviews SubjectAccessReview cluster
autoscaling horizontalpodautoscalers HorizontalPodAutoscaler hpa
batch cronjobs CronJob cj
batch jobs Job
certificates.k8s.io certificatesigningrequests CertificateSigningRequest csr cluster
certificates.k8s.io clustertrustbundles ClusterTrustBundle cluster
coordination.k8s.io leases Lease
discovery.k8s.io endpointslices EndpointSlice
events.k8s.io events Event ev
flowcontrol.apiserver.k8s.io flowschemas FlowSchema cluster
flowcontrol.apiserver.k8s.io prioritylevelconfigurations PriorityLevelConfiguration cluster
networking.k8s.io ingressclasses IngressClass cluster
networking.k8s.io ingresses Ingress ing
networking.k8s.io ipaddresses IPAddress ip cluster
networking.k8s.io networkpolicies NetworkPolicy netpol
networking.k8s.io servicecidrs ServiceCIDR cluster
node.k8s.io runtimeclasses RuntimeClass cluster
policy poddisruptionbudgets PodDisruptionBudget pdb
rbac.authorization.k8s.io clusterrolebindings ClusterRoleBinding cluster
rbac.authorization.k8s.io clusterroles ClusterRole cluster
rbac.authorization.k8s.io rolebindings RoleBinding
rbac.authorization.k8s.io roles Role
resource.k8s.io deviceclasses DeviceClass cluster
resource.k8s.io resourceclaims ResourceClaim
resource.k8s.io resourceclaimtemplates ResourceClaimTemplate
resource.k8s.io resourceslices ResourceSlice cluster
scheduling.k8s.io priorityclasses PriorityClass pc cluster
storage.k8s.io csidrivers CSIDriver cluster
storage.k8s.io csinodes CSINode cluster
storage.k8s.io csistoragecapacities CSIStorageCapacity
storage.k8s.io storageclasses StorageClass sc cluster
storage.k8s.io volumeattachments VolumeAttachment cluster
storage.k8s.io volumeattributesclasses VolumeAttributesClass vac cluster
`)

func parseBuiltin(table string) (all []Resource) {
	for line := range strings.Lines(strings.TrimSpace(table)) {
		words := strings.Fields(line)
		r := Resource{Group: strings.TrimPrefix(words[0], "/"), Name: words[1], Kind: words[2], ShortNames: words[3:]}
		if last := len(words) - 1; words[last] == "cluster" {
			r.Cluster, r.ShortNames = true, words[3:last]
		}
		all = append(all, r)
	}
	return all
}

// subresources are the subresources of the built-in resources.
var subresources = []string{"approval", "attach", "binding", "ephemeralcontainers", "eviction", "exec", "finalize", "log",
	"portforward", "proxy", "resize", "scale", "status", "token"}

// IsSubresource reports whether a built-in resource has a subresource with this name.
func IsSubresource(name string) bool { return slices.Contains(subresources, name) }

// Builtin returns the built-in resource with this group and name, or nil if there is none.
func Builtin(group, name string) *Resource {
	for i := range builtin {
		if builtin[i].Group == group && builtin[i].Name == name {
			return &builtin[i]
		}
	}
	return nil
}

// BuiltinGroup reports whether there are built-in resources in an API group.
func BuiltinGroup(group string) bool {
	return slices.ContainsFunc(builtin, func(r Resource) bool { return r.Group == group })
}

// GroupsWith returns the API groups that have a built-in resource with this name, in
// alphabetical order.
func GroupsWith(name string) (groups []string) {
	for i := range builtin {
		if builtin[i].Name == name {
			groups = append(groups, builtin[i].Group)
		}
	}
	return groups
}

// FindResource returns the built-in resource that kubectl finds for a name, or nil if there is
// none. The name is the plural, the singular or a short name, in any case: pods, pod, Pod or
// po. The group may be a prefix of the group's name. If it is "", the first group that has the
// resource is used.
func FindResource(name, group string) *Resource {
	name = strings.ToLower(name)
	for _, exact := range []bool{true, false} {
		for i := range builtin {
			r := &builtin[i]
			named := r.Name == name || strings.ToLower(r.Kind) == name || slices.Contains(r.ShortNames, name)
			if named && (group == "" || r.Group == group || !exact && strings.HasPrefix(r.Group, group)) {
				return r
			}
		}
	}
	return nil
}

// ResourceNames returns the names of the built-in resources, in the order of their groups.
func ResourceNames() (names []string) {
	for i := range builtin {
		names = append(names, builtin[i].Name)
	}
	return names
}

// SplitResource returns the parts of a resource as upstream writes it without a version, such as deployments.apps
// (k8s.io/apimachinery/pkg/runtime/schema, ParseGroupResource). The group of a core resource is "".
func SplitResource(text string) (group, name string) {
	name, group, _ = strings.Cut(text, ".")
	return group, name
}

// JoinResource returns a resource as SplitResource reads it.
func JoinResource(group, name string) string {
	if group == "" {
		return name
	}
	return name + "." + group
}

// SplitSubresource returns the parts of a resource as the rules of FlowSchemas name it: RESOURCE[/SUBRESOURCE].
func SplitSubresource(text string) (resource, subresource string) {
	resource, subresource, _ = strings.Cut(text, "/")
	return resource, subresource
}

// JoinSubresource returns a resource as SplitSubresource reads it.
func JoinSubresource(resource, subresource string) string {
	if subresource == "" {
		return resource
	}
	return resource + "/" + subresource
}

// ResourceArgument holds the parts of a resource as it is given to kubectl:
// RESOURCE[.VERSION][.GROUP][/SUBRESOURCE].
type ResourceArgument struct {
	Name, Version, Group, Subresource string
}

// ParseResource splits the text for a resource into its parts. The subresource may come before
// or after the group: deployments/scale.apps or deployments.apps/scale. The second part is the
// version if it has the form of one, as in deployments.v1.apps.
func ParseResource(text string) (r ResourceArgument) {
	text, r.Subresource = SplitSubresource(text)
	if sub, group, ok := strings.Cut(r.Subresource, "."); ok && !strings.Contains(text, ".") {
		r.Subresource, text = sub, text+"."+group
	}
	r.Name, r.Group, _ = strings.Cut(text, ".")
	if version, group, _ := strings.Cut(r.Group, "."); isVersion(version) {
		r.Version, r.Group = version, group
	}
	return r
}

// isVersion reports whether s has the form of an API version, such as v1, v2beta3 or v1alpha1.
func isVersion(s string) bool {
	s, ok := strings.CutPrefix(s, "v")
	digits := func() bool {
		after := strings.TrimLeft(s, "0123456789")
		found := len(after) < len(s)
		s = after
		return found
	}
	if !ok || !digits() {
		return false
	}
	if s == "" {
		return true
	}
	stage := false
	for _, name := range []string{"alpha", "beta"} {
		if after, ok := strings.CutPrefix(s, name); ok && !stage {
			s, stage = after, true
		}
	}
	return stage && digits() && s == ""
}
