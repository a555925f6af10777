package workload

// Resources returns the resources that the behaviour reads and writes, written like deployments.apps.
func (b *Behaviour) Resources() []string {
	switch {
	case b.Informer != nil:
		return []string{ResourceName(b.Informer.Group, b.Informer.Resource)}
	case b.Controller != nil:
		names := []string{b.Controller.Watches}
		for _, s := range b.Controller.Reconcile {
			names = append(names, ResourceName(s.Group, s.Resource))
		}
		return names
	case b.LeaderElection != nil:
		return []string{"leases.coordination.k8s.io"}
	case b.Kubelet != nil:
		return []string{"nodes", "leases.coordination.k8s.io", "pods", "services", "secrets", "configmaps"}
	case b.Writer != nil:
		return []string{ResourceName(b.Writer.Group, b.Writer.Resource)}
	case b.EventRecorder != nil:
		return []string{"events"}
	case b.Lister != nil:
		return []string{ResourceName(b.Lister.Group, b.Lister.Resource)}
	case b.Kubectl != nil:
		return []string{ResourceName(b.Kubectl.Group, b.Kubectl.Resource)}
	}
	return nil
}
