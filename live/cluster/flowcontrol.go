package cluster

import (
	"context"

	flowcontrol "k8s.io/api/flowcontrol/v1"
)

// FlowControl are the objects of flow control of a server, by the identifiers that its answers contain.
type FlowControl struct {
	Schemas map[string]Schema // by UID
	Levels  map[string]string // names by UID
}

// Schema is what an answer says about its request by the UID of a FlowSchema.
type Schema struct {
	Name          string
	Distinguisher string // ByUser, ByNamespace, or empty
}

// The headers of an answer that say how the request was classified.
const (
	SchemaHeader = flowcontrol.ResponseHeaderMatchedFlowSchemaUID
	LevelHeader  = flowcontrol.ResponseHeaderMatchedPriorityLevelConfigurationUID
)

// FlowControl reads the names of the FlowSchemas and priority levels.
func (c *Cluster) FlowControl(ctx context.Context) (*FlowControl, error) {
	var group apiVersions
	if err := c.getJSON(ctx, &group, "apis", flowcontrol.GroupName); err != nil {
		return nil, err
	}
	version := group.PreferredVersion.Version
	var schemas struct {
		Items []struct {
			Metadata struct{ Name, UID string }
			Spec     struct {
				DistinguisherMethod struct{ Type string }
			}
		}
	}
	if err := c.getJSON(ctx, &schemas, "apis", flowcontrol.GroupName, version, "flowschemas"); err != nil {
		return nil, err
	}
	var levels struct {
		Items []struct {
			Metadata struct{ Name, UID string }
		}
	}
	if err := c.getJSON(ctx, &levels, "apis", flowcontrol.GroupName, version, "prioritylevelconfigurations"); err != nil {
		return nil, err
	}
	f := &FlowControl{Schemas: map[string]Schema{}, Levels: map[string]string{}}
	for _, s := range schemas.Items {
		f.Schemas[s.Metadata.UID] = Schema{s.Metadata.Name, s.Spec.DistinguisherMethod.Type}
	}
	for _, l := range levels.Items {
		f.Levels[l.Metadata.UID] = l.Metadata.Name
	}
	return f, nil
}
