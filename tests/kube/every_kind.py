"""One object of each kind that is read, with every field that is read of it: what hostile tests bend and break."""

from typing import Any

from tests.kube.objects import Object

POD, NODE = "suspect", "suspect-node"
HOME = "home"  # the node on which the suspect pod is
_OWNER = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "uid": "u-rs", "controller": True}]
_SELECTOR = {"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "tier", "operator": "In", "values": ["a", "b"]}]}
_NODE_TERM = {
    "matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}],
    "matchFields": [{"key": "metadata.name", "operator": "In", "values": [HOME]}],
}
_POD_TERM = {
    "topologyKey": "zone", "labelSelector": _SELECTOR, "namespaces": ["default"], "namespaceSelector": _SELECTOR,
    "matchLabelKeys": ["app"], "mismatchLabelKeys": ["tier"],
}  # fmt: skip
_POD_TERMS = {
    "requiredDuringSchedulingIgnoredDuringExecution": [_POD_TERM],
    "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "podAffinityTerm": _POD_TERM}],
}
_AMOUNTS = {"requests": {"cpu": "250m", "memory": "1Gi"}, "limits": {"cpu": 1, "memory": 2.5}}
_CONTAINER = {
    "name": "main", "resources": _AMOUNTS, "restartPolicy": "Always",
    "ports": [{"containerPort": 80, "hostPort": 8080, "protocol": "TCP", "hostIP": "10.0.0.1"}],
}  # fmt: skip
_STATUS = {"name": "main", "resources": _AMOUNTS, "allocatedResources": {"cpu": "300m"}}
_VOLUMES = [
    {"name": "data", "persistentVolumeClaim": {"claimName": "data"}},
    {"name": "own", "ephemeral": {"volumeClaimTemplate": {}}},
    {"name": "scratch", "emptyDir": {"medium": ""}},
    {"name": "host", "hostPath": {"path": "/"}},
    {"name": "inline", "csi": {"driver": "ebs.csi.aws.com"}},
    {"name": "disk", "awsElasticBlockStore": {"volumeID": "aws://us-east-1a/vol-1"}},
]
_SPEC: Object = {
    "containers": [_CONTAINER],
    "initContainers": [_CONTAINER],
    "nodeSelector": {"disk": "ssd"},
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [_NODE_TERM]},
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": _NODE_TERM}],
        },
        "podAffinity": _POD_TERMS,
        "podAntiAffinity": _POD_TERMS,
    },
    "tolerations": [{"key": "team", "operator": "Equal", "value": "x", "effect": "NoSchedule"}],
    "topologySpreadConstraints": [{
        "topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": _SELECTOR, "minDomains": 2,
        "matchLabelKeys": ["app"], "nodeAffinityPolicy": "Honor", "nodeTaintsPolicy": "Ignore",
    }],
    "overhead": {"cpu": "10m"},
    "resources": _AMOUNTS,
    "volumes": _VOLUMES,
    "resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu-1", "resourceClaimTemplateName": "gpu"}],
    "schedulerName": "default-scheduler",
    "hostNetwork": False,
    "schedulingGroup": {"podGroupName": "train"},
    "workloadRef": {"name": "train", "podGroup": "workers", "podGroupReplicaKey": "a"},
    "priority": 7,
    "priorityClassName": "high",
    "preemptionPolicy": "Never",
    "terminationGracePeriodSeconds": 60,
}  # fmt: skip
_POD_META: Object = {
    "creationTimestamp": "2025-12-31T23:00:00Z",
    "uid": "u-pod",
    "labels": {"app": "web", "tier": "a", "kueue.x-k8s.io/pod-group-name": "train"},
    "annotations": {
        "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
        "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes": "scratch",
        "cluster-autoscaler.kubernetes.io/pod-scale-up-delay": "30s",
        "cluster-autoscaler.kubernetes.io/enable-ds-eviction": "true",
        "karpenter.sh/do-not-disrupt": "true",
        "scheduling.volcano.sh/group-name": "train",
        "kueue.x-k8s.io/pod-group-total-count": "8",
        "autoscaling.x-k8s.io/consume-provisioning-request": "soon",
    },
    "ownerReferences": _OWNER,
}
_TEMPLATE: Object = {"metadata": {"labels": {"app": "web"}, "annotations": _POD_META["annotations"]}, "spec": _SPEC}


def _named(kind: str, api_version: str, name: str = "one", meta: Object | None = None, **fields: Any) -> Object:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": name, "namespace": "default", **(meta or {})},
        **fields,
    }


def bound_pod() -> Object:
    status = {
        "phase": "Running", "startTime": "2025-12-31T23:01:00Z", "resources": _AMOUNTS, "allocatedResources": {"cpu": "1"},
        "conditions": [
            {"type": "Ready", "status": "True"}, {"type": "PodResizePending", "status": "True", "reason": "Deferred"},
        ],
        "containerStatuses": [_STATUS], "initContainerStatuses": [_STATUS],
    }  # fmt: skip
    return _named("Pod", "v1", POD, _POD_META, spec={**_SPEC, "nodeName": HOME}, status=status)


def waiting_pod() -> Object:
    unscheduled = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]
    return _named("Pod", "v1", POD, _POD_META, spec=_SPEC, status={"phase": "Pending", "conditions": unscheduled})


def samples() -> dict[str, Object]:
    """By kind, as `Objects` calls them."""
    counted = [{"name": "main", "count": 4, "minCount": 2}]
    times = {"creationTimestamp": "2025-12-31T20:00:00Z"}
    return {
        "Pod": bound_pod(),
        "Node": _named(
            "Node", "v1", NODE,
            {
                **times, "labels": {"topology.kubernetes.io/zone": "us-east-1a"},
                "annotations": {"cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"},
                "managedFields": [{"manager": "kubectl-cordon", "operation": "Update", "time": "2025-12-31T20:00:00Z",
                                   "fieldsV1": {"f:spec": {"f:unschedulable": {}}}}],
            },
            spec={"providerID": "aws:///us-east-1a/i-0a", "unschedulable": True,
                  "taints": [{"key": "team", "value": "x", "effect": "NoSchedule"}]},
            status={
                "allocatable": {"cpu": "4", "memory": "16Gi", "pods": 110},
                "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2025-12-31T20:01:00Z"}],
                "addresses": [{"type": "InternalDNS", "address": "ip-10-0-0-1.ec2.internal"}],
            },
        ),
        "PodDisruptionBudget": _named(
            "PodDisruptionBudget", "policy/v1", meta={"generation": 3},
            spec={"selector": _SELECTOR, "unhealthyPodEvictionPolicy": "AlwaysAllow"},
            status={
                "observedGeneration": 3, "disruptionsAllowed": 1, "currentHealthy": 2, "desiredHealthy": 1, "expectedPods": 2,
            },
        ),
        "DaemonSet": _named("DaemonSet", "apps/v1", meta=times, spec={"template": _TEMPLATE}),
        "ReplicaSet": _named(
            "ReplicaSet", "apps/v1", "rs",
            {"uid": "u-rs", "ownerReferences": [{**_OWNER[0], "kind": "Deployment", "name": "web"}],
             "annotations": {"deployment.kubernetes.io/desired-replicas": "3", "deployment.kubernetes.io/revision": "2"}},
            spec={"replicas": 3, "template": _TEMPLATE},
        ),
        "ReplicationController": _named("ReplicationController", "v1", spec={"replicas": 3, "template": _TEMPLATE}),
        "StatefulSet": _named("StatefulSet", "apps/v1", meta={"uid": "u"}, spec={"replicas": 3, "template": _TEMPLATE}),
        "Job": _named(
            "Job", "batch/v1", spec={"parallelism": 3, "completions": 5, "template": _TEMPLATE},
            status={"conditions": [{"type": "Suspended", "status": "False"}]},
        ),
        "Namespace": _named("Namespace", "v1", "default", {"labels": {"tier": "a"}}),
        "ConfigMap": _named(
            "ConfigMap", "v1", "cluster-autoscaler-priority-expander", {"namespace": "kube-system"},
            data={"priorities": "10:\n- spot-.*\n"},
        ),
        "PersistentVolume": _named(
            "PersistentVolume", "v1", "pv-1", {"labels": {"topology.kubernetes.io/zone": "us-east-1a__us-east-1b"}},
            spec={
                "capacity": {"storage": "10Gi"}, "accessModes": ["ReadWriteOnce"], "volumeMode": "Filesystem",
                "storageClassName": "gp3", "volumeAttributesClassName": "fast",
                "claimRef": {"name": "data", "namespace": "default", "uid": "u-claim"},
                "nodeAffinity": {"required": {"nodeSelectorTerms": [_NODE_TERM]}},
                "csi": {"driver": "ebs.csi.aws.com", "volumeHandle": "vol-1"}, "awsElasticBlockStore": {"volumeID": "vol-2"},
            },
            status={"phase": "Bound"},
        ),
        "PersistentVolumeClaim": _named(
            "PersistentVolumeClaim", "v1", "data",
            {"uid": "u-claim", "ownerReferences": _OWNER, "annotations": {"volume.kubernetes.io/selected-node": HOME}},
            spec={
                "accessModes": ["ReadWriteOnce"], "selector": _SELECTOR, "resources": {"requests": {"storage": "1Gi"}},
                "volumeName": "pv-1", "storageClassName": "gp3", "volumeMode": "Filesystem",
                "volumeAttributesClassName": "fast",
            },
            status={"phase": "Bound"},
        ),
        "StorageClass": _named(
            "StorageClass", "storage.k8s.io/v1", "gp3", provisioner="ebs.csi.aws.com", volumeBindingMode="WaitForFirstConsumer",
            allowedTopologies=[{"matchLabelExpressions": [{"key": "topology.kubernetes.io/zone", "values": ["us-east-1a"]}]}],
        ),
        "CSINode": _named(
            "CSINode", "storage.k8s.io/v1", HOME, spec={"drivers": [{"name": "ebs.csi.aws.com", "allocatable": {"count": 25}}]}
        ),
        "CSIDriver": _named("CSIDriver", "storage.k8s.io/v1", "d", spec={"preventPodSchedulingIfMissing": True}),
        "CSIStorageCapacity": _named(
            "CSIStorageCapacity", "storage.k8s.io/v1", "left", storageClassName="gp3", capacity="100Gi",
            maximumVolumeSize="20Gi",
            nodeTopology={
                "matchLabels": {"zone": "a"}, "matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}],
            },
        ),
        "VolumeAttachment": _named(
            "VolumeAttachment", "storage.k8s.io/v1",
            spec={"attacher": "ebs.csi.aws.com", "nodeName": HOME, "source": {"persistentVolumeName": "pv-1"}},
        ),
        "PodTemplate": _named("PodTemplate", "v1", "small", template=_TEMPLATE),
        "CapacityBuffer.autoscaling.x-k8s.io": _named(
            "CapacityBuffer", "autoscaling.x-k8s.io/v1beta1",
            spec={
                "provisioningStrategy": "active-capacity", "podTemplateRef": {"name": "small"}, "replicas": 3, "percentage": 50,
                "scalableRef": {"kind": "Deployment", "name": "web", "apiGroup": "apps"}, "limits": {"cpu": "4"},
            },
        ),
        "ProvisioningRequest.autoscaling.x-k8s.io": _named(
            "ProvisioningRequest", "autoscaling.x-k8s.io/v1", "soon",
            spec={"provisioningClassName": "check", "podSets": [{"podTemplateRef": {"name": "small"}, "count": 3}]},
            status={"conditions": [{"type": "Provisioned", "status": "True"}]},
        ),
        "PodGroup.scheduling.k8s.io": _named(
            "PodGroup", "scheduling.k8s.io/v1beta1", "train",
            spec={"schedulingPolicy": {"gang": {"minCount": 4}}, "parentCompositePodGroupName": "all"},
        ),
        "CompositePodGroup.scheduling.k8s.io": _named(
            "CompositePodGroup", "scheduling.k8s.io/v1alpha3", "all",
            spec={"schedulingPolicy": {"gang": {"minGroupCount": 2}}, "parentCompositePodGroupName": "more"},
        ),
        "Workload.scheduling.k8s.io": _named(
            "Workload", "scheduling.k8s.io/v1alpha1", "train",
            spec={"podGroups": [{"name": "workers", "policy": {"gang": {"minCount": 4}}}]},
        ),
        "PodGroup.scheduling.x-k8s.io": _named(
            "PodGroup", "scheduling.x-k8s.io/v1alpha1", "train", spec={"minMember": 4, "minResources": {"cpu": "8"}}
        ),
        "PodGroup.scheduling.volcano.sh": _named(
            "PodGroup", "scheduling.volcano.sh/v1beta1", "train", spec={"minMember": 4, "minResources": {"cpu": "8"}}
        ),
        "Workload.kueue.x-k8s.io": _named(
            "Workload", "kueue.x-k8s.io/v1beta1", "train", {"ownerReferences": _OWNER}, spec={"podSets": counted},
            status={"admission": {"podSetAssignments": counted}, "reclaimablePods": counted},
        ),
        "JobSet.jobset.x-k8s.io": _named(
            "JobSet", "jobset.x-k8s.io/v1alpha2", "train",
            spec={
                "replicatedJobs": [{"name": "w", "replicas": 2, "dependsOn": [{"name": "x"}],
                                    "template": {"spec": {"parallelism": 2, "completions": 2}}}],
                "startupPolicy": {"startupPolicyOrder": "InOrder"},
            },
            status={"replicatedJobsStatus": [{"name": "w", "succeeded": 1}]},
        ),
    }  # fmt: skip
