package identity

import (
	"strings"

	"apfsim/core/classify"
)

// entry is an identity of the table with the releases that have it: from since on, before until; "" is no bound.
type entry struct {
	Identity
	since, until string
}

// The requests of a leader election by leases (k8s.io/client-go/tools/leaderelection), and by endpoints as well, which was
// the default of kube-scheduler and kube-controller-manager before 1.20.
const (
	electsByLease     = "get,create,update leases.coordination.k8s.io kube-system NAME\n"
	electsByEndpoints = "get,create,update endpoints kube-system NAME\n"
)

// discovers are the requests of a client that asks which resources a server has (k8s.io/client-go/discovery).
const discovers = "get /api\nget /apis\nget /openapi/v2\n"

// system is an identity of the control plane that is a user of its own.
func system(name, user string, groups []string, requests string) entry {
	return entry{Identity: Identity{Name: name, User: user, Groups: groups, ControlPlane: true, requests: parse(strings.ReplaceAll(requests, "NAME", name))}}
}

// account is an identity of the control plane that is a service account of kube-system.
func account(name, requests string) entry {
	return system(name, classify.ServiceAccountPrefix+"kube-system:"+name, nil, requests)
}

// other is an identity on which the cluster does not depend.
func other(name, user string, groups []string, requests string) entry {
	e := system(name, user, groups, requests)
	e.ControlPlane = false
	return e
}

func (e entry) from(release string) entry { e.since = release; return e }

func (e entry) before(release string) entry { e.until = release; return e }

// builtin is the table of identities. The users and the requests of kube-controller-manager's controllers, of kube-scheduler, of
// kube-proxy and of kubelets are those that the bootstrap policy of RBAC allows and that their code sends
// (k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy, policy.go and controller_policy.go).
var builtin = []entry{
	// Requests to itself, over the loopback interface (k8s.io/apiserver/pkg/server, AuthorizeClientBearerToken).
	system("kube-apiserver", "system:apiserver", []string{masters}, `
list,watch namespaces
list,watch roles.rbac.authorization.k8s.io
list,watch clusterroles.rbac.authorization.k8s.io
list,watch validatingwebhookconfigurations.admissionregistration.k8s.io
get configmaps kube-system extension-apiserver-authentication
get,create,update leases.coordination.k8s.io kube-system apiserver-1
update flowschemas.flowcontrol.apiserver.k8s.io - service-accounts
`),
	// The group that RBAC does not limit (k8s.io/apiserver/pkg/authentication/user, SystemPrivilegedGroup). From 1.29 on,
	// kubeadm gives its administrators another one (k8s.io/kubernetes/cmd/kubeadm/app/constants, ClusterAdminsGroupAndClusterRoleBinding).
	system("cluster administrator", "kubernetes-super-admin", []string{masters}, everyday),
	other("administrator of kubeadm", "kubernetes-admin", []string{"kubeadm:cluster-admins"}, everyday).from("1.29"),
	// Probes of kube-apiserver by its kubelet and by load balancers (k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap, probes).
	system("health probe", classify.Anonymous, nil, "get /healthz\nget /livez\nget /readyz\n"),
	system("health probe that authenticates", "load-balancer", nil, "get /healthz\nget /livez\nget /readyz\n"),

	// k8s.io/kubernetes/pkg/kubelet: nodelease and kubelet_node_status.go for the node, config/apiserver.go, status and
	// util/manager for pods and what they use; k8s.io/component-helpers/apimachinery/lease.
	system("kubelet", classify.NodePrefix+anyNode, nil, `
get,create,update leases.coordination.k8s.io kube-node-lease {node}
patch nodes/status - {node}
get,create,list,watch nodes - {node}
list,watch pods
get,create,delete pods {namespace} web-0
patch pods/status {namespace} web-0
get,list,watch secrets {namespace} web
get,list,watch configmaps {namespace} web
create serviceaccounts/token {namespace} default
create,patch events {namespace}
list,watch services
get persistentvolumeclaims {namespace} data-0
get persistentvolumes - pv-1
get,update csinodes.storage.k8s.io - {node}
list,watch csidrivers.storage.k8s.io
get volumeattachments.storage.k8s.io - csi-1
list,watch runtimeclasses.node.k8s.io
create certificatesigningrequests.certificates.k8s.io
create tokenreviews.authentication.k8s.io
create subjectaccessreviews.authorization.k8s.io
`),
	// k8s.io/kubernetes/pkg/scheduler: eventhandlers.go for what it watches, the binder and its framework for what it writes.
	system("kube-scheduler", "system:kube-scheduler", nil, electsByLease+`
list,watch pods
list,watch nodes
list,watch namespaces
list,watch services
list,watch persistentvolumes
list,watch persistentvolumeclaims
list,watch replicationcontrollers
list,watch replicasets.apps
list,watch statefulsets.apps
list,watch storageclasses.storage.k8s.io
list,watch csinodes.storage.k8s.io
list,watch poddisruptionbudgets.policy
create pods/binding {namespace} web-0
patch pods/status {namespace} web-0
delete pods {namespace} web-0
create,patch events.events.k8s.io {namespace}
`),
	system("kube-scheduler", "system:kube-scheduler", nil, electsByEndpoints).before("1.20"),
	// k8s.io/kubernetes/cmd/kube-controller-manager/app: its informers are those of all controllers, which write as service
	// accounts of kube-system (--use-service-account-credentials).
	system("kube-controller-manager", "system:kube-controller-manager", nil, electsByLease+discovers+`
list,watch pods
list,watch nodes
list,watch namespaces
list,watch services
list,watch endpoints
list,watch secrets
list,watch configmaps
list,watch serviceaccounts
list,watch replicationcontrollers
list,watch resourcequotas
list,watch persistentvolumes
list,watch persistentvolumeclaims
list,watch deployments.apps
list,watch replicasets.apps
list,watch statefulsets.apps
list,watch daemonsets.apps
list,watch controllerrevisions.apps
list,watch jobs.batch
list,watch cronjobs.batch
list,watch horizontalpodautoscalers.autoscaling
list,watch poddisruptionbudgets.policy
list,watch endpointslices.discovery.k8s.io
list,watch leases.coordination.k8s.io
list,watch ingresses.networking.k8s.io
list,watch networkpolicies.networking.k8s.io
list,watch storageclasses.storage.k8s.io
list,watch volumeattachments.storage.k8s.io
list,watch csinodes.storage.k8s.io
list,watch csidrivers.storage.k8s.io
list,watch certificatesigningrequests.certificates.k8s.io
list,watch customresourcedefinitions.apiextensions.k8s.io
list,watch clusterroles.rbac.authorization.k8s.io
list,watch roles.rbac.authorization.k8s.io
get serviceaccounts kube-system deployment-controller
create serviceaccounts/token kube-system deployment-controller
create,patch events {namespace}
create tokenreviews.authentication.k8s.io
create subjectaccessreviews.authorization.k8s.io
`),
	system("kube-controller-manager", "system:kube-controller-manager", nil, electsByEndpoints).before("1.20"),
	account("deployment-controller", "create,update,patch,delete replicasets.apps {namespace} web\nupdate deployments.apps/status {namespace} web\nupdate deployments.apps {namespace} web\ncreate,patch events {namespace}\n"),
	account("replicaset-controller", "create,patch,delete pods {namespace} web-0\nupdate replicasets.apps/status {namespace} web\ncreate,patch events {namespace}\n"),
	account("replication-controller", "create,patch,delete pods {namespace} web-0\nupdate replicationcontrollers/status {namespace} web\n"),
	account("statefulset-controller", "create,update,delete pods {namespace} web-0\ncreate persistentvolumeclaims {namespace} data-0\nupdate statefulsets.apps/status {namespace} web\ncreate controllerrevisions.apps {namespace} web-1\n"),
	account("daemon-set-controller", "create,patch,delete pods {namespace} agent-0\nupdate daemonsets.apps/status {namespace} agent\ncreate controllerrevisions.apps {namespace} agent-1\n"),
	account("job-controller", "create,patch,delete pods {namespace} job-0\nupdate jobs.batch/status {namespace} job\npatch,update jobs.batch {namespace} job\ncreate,patch events {namespace}\n"),
	account("cronjob-controller", "create,delete jobs.batch {namespace} job\nupdate cronjobs.batch/status {namespace} job\n"),
	account("ttl-after-finished-controller", "get,delete jobs.batch {namespace} job\n"),
	account("endpoint-controller", "create,update,delete endpoints {namespace} web\ncreate,patch events {namespace}\n"),
	account("endpointslice-controller", "create,update,delete endpointslices.discovery.k8s.io {namespace} web-1\n").from("1.19"),
	account("endpointslicemirroring-controller", "create,update,delete endpointslices.discovery.k8s.io {namespace} web-1\n").from("1.19"),
	account("node-controller", "get,patch,update nodes - node-1\npatch,update nodes/status - node-1\nupdate,patch pods/status {namespace} web-0\ndelete pods {namespace} web-0\ncreate,patch events {namespace}\n"),
	account("namespace-controller", discovers+"get,delete namespaces {namespace} {namespace}\nupdate namespaces/finalize {namespace} {namespace}\nupdate namespaces/status {namespace} {namespace}\nlist,deletecollection pods {namespace}\nlist,deletecollection secrets {namespace}\nlist,deletecollection configmaps {namespace}\nlist,deletecollection deployments.apps {namespace}\nlist,deletecollection events.events.k8s.io {namespace}\n"),
	account("generic-garbage-collector", discovers+"get,patch,delete pods {namespace} web-0\nget,patch,delete replicasets.apps {namespace} web\nget,patch,delete configmaps {namespace} web\nget,patch,delete endpointslices.discovery.k8s.io {namespace} web-1\nget,patch,delete jobs.batch {namespace} job\n"),
	account("pod-garbage-collector", "delete pods {namespace} web-0\npatch pods/status {namespace} web-0\nget nodes - node-1\n"),
	account("resourcequota-controller", "update resourcequotas/status {namespace} quota\nget pods {namespace} web-0\n"),
	account("disruption-controller", "update poddisruptionbudgets.policy/status {namespace} web\n"),
	account("horizontal-pod-autoscaler", "get,update deployments.apps/scale {namespace} web\nupdate horizontalpodautoscalers.autoscaling/status {namespace} web\nlist pods.metrics.k8s.io {namespace}\n"),
	account("persistent-volume-binder", "get,create,update,delete persistentvolumes - pv-1\nupdate persistentvolumeclaims {namespace} data-0\nupdate persistentvolumeclaims/status {namespace} data-0\n"),
	account("attachdetach-controller", "get,create,delete volumeattachments.storage.k8s.io - csi-1\npatch nodes/status - node-1\n"),
	account("expand-controller", "patch persistentvolumes - pv-1\npatch persistentvolumeclaims/status {namespace} data-0\n"),
	account("pvc-protection-controller", "update persistentvolumeclaims {namespace} data-0\nlist pods {namespace}\n"),
	account("pv-protection-controller", "update persistentvolumes - pv-1\n"),
	account("service-account-controller", "create serviceaccounts {namespace} default\n"),
	account("root-ca-cert-publisher", "create,update configmaps {namespace} kube-root-ca.crt\n").from("1.20"),
	account("certificate-controller", "update certificatesigningrequests.certificates.k8s.io/status - csr-1\nupdate certificatesigningrequests.certificates.k8s.io/approval - csr-1\ncreate subjectaccessreviews.authorization.k8s.io\n"),
	account("clusterrole-aggregation-controller", "patch clusterroles.rbac.authorization.k8s.io - admin\n"),
	account("ephemeral-volume-controller", "create persistentvolumeclaims {namespace} data-0\n").from("1.21"),
	account("resource-claim-controller", "create,delete resourceclaims.resource.k8s.io {namespace} claim\npatch pods/status {namespace} web-0\n").from("1.26"),
	// k8s.io/cloud-provider: its controllers; the service account is that of the manifest in its documentation.
	account("cloud-controller-manager", electsByLease+"list,watch nodes\nget,patch nodes - node-1\npatch nodes/status - node-1\nlist,watch services\npatch services/status {namespace} web\ncreate,patch events {namespace}\n"),
	// k8s.io/kubernetes/cmd/kube-proxy: as a service account of kubeadm's DaemonSet, or as the user of the bootstrap policy.
	account("kube-proxy", watchesServices+"list,watch endpointslices.discovery.k8s.io\n").from("1.19"),
	account("kube-proxy", watchesServices+"list,watch endpoints\n").before("1.19"),
	system("kube-proxy", "system:kube-proxy", nil, watchesServices+"list,watch endpointslices.discovery.k8s.io\n").from("1.19"),
	system("kube-proxy", "system:kube-proxy", nil, watchesServices+"list,watch endpoints\n").before("1.19"),
	// The Deployment of kubeadm and of k8s.io/kubernetes/cluster/addons/dns/coredns.
	account("coredns", "list,watch services\nlist,watch namespaces\nlist,watch pods\nlist,watch endpointslices.discovery.k8s.io\n").from("1.21"),
	account("coredns", "list,watch services\nlist,watch namespaces\nlist,watch pods\nlist,watch endpoints\n").before("1.21"),
	// An aggregated server asks kube-apiserver who a user is and what it may do (the roles system:auth-delegator and
	// extension-apiserver-authentication-reader of the bootstrap policy).
	account("metrics-server", "create tokenreviews.authentication.k8s.io\ncreate subjectaccessreviews.authorization.k8s.io\nget,list,watch configmaps kube-system extension-apiserver-authentication\nlist,watch pods\nlist,watch nodes\n"),

	other("service account of a workload", classify.ServiceAccountPrefix+"default:app", nil, everyday+"get,create,update leases.coordination.k8s.io {namespace} app\ncreate,patch events {namespace}\n"),
	other("user", "jane", nil, everyday),
	other("user who has not authenticated", classify.Anonymous, nil, "get /version\nget /api\nget pods {namespace} web-0\nget configmaps kube-public cluster-info\n"),
}

const masters = "system:masters"

// everyday are requests of people and of workloads.
const everyday = discovers + `
get,list,watch pods {namespace} web-0
list,watch pods
list,watch nodes
get,list secrets {namespace} web
get,list,update configmaps {namespace} web
create,patch,delete deployments.apps {namespace} web
`

const watchesServices = "list,watch services\nget,list,watch nodes\ncreate,patch events.events.k8s.io {namespace}\n"
