"""Pods that must start together, from the objects and pods of each source as its controllers write them."""

from typing import Any

import pytest

from spillway.model.cluster import ClusterSnapshot, PodState
from spillway.model.reason import Code
from spillway.model.workloads import Gang, GangSource
from tests.kube.objects import Object, pod, set_of, snapshot_of

pytestmark = pytest.mark.feature("CS-12")

GIB = 1024**3


def thing(api_version: str, kind: str, name: str = "train", *, status: Object | None = None, **spec: Any) -> Object:
    head = {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": "default"}}
    return {**head, "spec": spec} | ({"status": status} if status else {})


def gang(seen: ClusterSnapshot, name: str = "a") -> Gang | None:
    """That of a pod."""
    found = set_of(seen, name).gang
    return next((one for one in seen.gangs if one.id == found), None)


def least(seen: ClusterSnapshot) -> tuple[str, int] | None:
    found = gang(seen)
    return (found.id, found.min_pods) if found else None


class TestCoscheduling:
    GROUP = thing("scheduling.x-k8s.io/v1alpha1", "PodGroup", minMember=4, minResources={"cpu": "8", "memory": "16Gi"})

    @pytest.mark.parametrize("label", ["scheduling.x-k8s.io/pod-group", "pod-group.scheduling.sigs.k8s.io"])
    def test_the_pods_label_names_a_pod_group(self, label: str):
        found = gang(snapshot_of(pod("a", labels={label: "train"}), self.GROUP))
        assert found == Gang(
            id="coscheduling/default/train",
            source=GangSource.COSCHEDULING,
            namespace="default",
            name="train",
            min_pods=4,
            resources={"cpu": 8000, "memory": 16 * GIB},
        )

    def test_the_oldest_labels_say_it_all_themselves(self):
        labels = {"pod-group.scheduling.sigs.k8s.io/name": "train", "pod-group.scheduling.sigs.k8s.io/min-available": "3"}
        seen = snapshot_of(pod("a", labels=labels), pod("b", labels=labels))
        assert least(seen) == ("coscheduling/default/train", 3)
        assert set_of(seen, "a").names == ("a", "b")

    def test_gangs_of_one_shape_are_sets_of_their_own(self):
        pods = [pod(name, labels={"scheduling.x-k8s.io/pod-group": group}) for name, group in (("a", "train"), ("b", "other"))]
        other = thing("scheduling.x-k8s.io/v1alpha1", "PodGroup", "other", minMember=2)
        seen = snapshot_of(*pods, self.GROUP, other)
        assert len(seen.shapes) == 1
        assert [(one.gang, one.names) for one in seen.pods] == [
            ("coscheduling/default/other", ("b",)),
            ("coscheduling/default/train", ("a",)),
        ]

    def test_a_group_of_another_namespace_is_another(self):
        seen = snapshot_of(pod("a", namespace="prod", labels={"scheduling.x-k8s.io/pod-group": "train"}), self.GROUP)
        assert [warning.code for warning in seen.warnings] == [Code.GANG_UNKNOWN]

    def test_amounts_that_do_not_read_are_a_warning_and_the_gang_stays(self):
        group = thing("scheduling.x-k8s.io/v1alpha1", "PodGroup", minMember=4, minResources={"cpu": "lots"})
        seen = snapshot_of(pod("a", labels={"scheduling.x-k8s.io/pod-group": "train"}), group)
        assert least(seen) == ("coscheduling/default/train", 4)
        assert "'lots'" in seen.warnings[0].text


class TestVolcano:
    @pytest.mark.parametrize("key", ["scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name"])
    def test_the_pods_annotation_names_a_pod_group(self, key: str):
        """As its job controller writes them: the group's name carries the job's uid."""
        group = thing(
            "scheduling.volcano.sh/v1beta1", "PodGroup", "train-1f3a", minMember=5, minResources={"nvidia.com/gpu": "40"}
        )
        found = gang(snapshot_of(pod("a", annotations={key: "train-1f3a"}, spec={"schedulerName": "volcano"}), group))
        assert found is not None
        assert (found.source, found.min_pods, found.resources) == (GangSource.VOLCANO, 5, {"nvidia.com/gpu": 40})


class TestKueue:
    SETS = ({"name": "driver", "count": 1}, {"name": "workers", "count": 8, "minCount": 4})

    def workload(self, name: str = "train", status: Object | None = None, owner: str = "") -> Object:
        found = thing("kueue.x-k8s.io/v1beta1", "Workload", name, podSets=list(self.SETS), status=status)
        if owner:
            found["metadata"]["ownerReferences"] = [{"apiVersion": "batch/v1", "kind": "Job", "name": "job", "uid": owner}]
        return found

    def group(self, name: str = "a", **fields: Any) -> Object:
        labels = {"kueue.x-k8s.io/pod-group-name": "train", "kueue.x-k8s.io/managed": "true"}
        return pod(name, labels=labels, annotations={"kueue.x-k8s.io/pod-group-total-count": "9"}, **fields)

    def test_before_its_admission_as_many_as_may_be(self):
        assert least(snapshot_of(self.group(), self.workload())) == ("kueue/default/train", 5)

    def test_after_it_as_many_as_were_admitted_less_those_that_are_done(self):
        assigned = [{"name": "driver", "count": 1}, {"name": "workers", "count": 6}]
        status = {
            "admission": {"clusterQueue": "q", "podSetAssignments": assigned},
            "conditions": [{"type": "Admitted", "status": "True"}],
            "reclaimablePods": [{"name": "workers", "count": 2}],
        }
        assert least(snapshot_of(self.group(), self.workload(status=status))) == ("kueue/default/train", 5)

    def test_without_its_workload_what_the_pods_say(self):
        seen = snapshot_of(self.group())
        assert least(seen) == ("kueue/default/train", 9)
        (warning,) = seen.warnings
        assert warning.code == Code.GANG_UNKNOWN
        assert "kueue gang default/train has no object in the cluster: its pods ask for 9 of them" in warning.text

    def test_the_pods_of_a_job_that_it_admitted(self):
        """They say nothing of it: the Workload names the Job that they belong to."""
        owner = [{"apiVersion": "batch/v1", "kind": "Job", "name": "job", "uid": "u-1", "controller": True}]
        seen = snapshot_of(pod("a", ownerReferences=owner), self.workload("job-job-3c5f", owner="u-1"))
        assert least(seen) == ("kueue/default/job-job-3c5f", 5)

    def test_a_pod_that_waits_for_its_admission_is_gated_and_no_demand(self):
        gated = self.group(spec={"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]})
        assert set_of(snapshot_of(gated, self.workload()), "a").state == PodState.GATED


class TestJobSet:
    def job_set(self, status: Object | None = None, *, depends: bool = False, **spec: Any) -> Object:
        jobs = [
            {"name": "driver", "replicas": 1, "template": {"spec": {"template": {}}}},
            {"name": "workers", "replicas": 2, "template": {"spec": {"parallelism": 4, "completions": 3}}},
        ]
        if depends:
            jobs[1]["dependsOn"] = [{"name": "driver", "status": "Ready"}]
        return thing("jobset.x-k8s.io/v1alpha2", "JobSet", replicatedJobs=jobs, status=status, **spec)

    def worker(self, name: str = "a", job: str = "workers") -> Object:
        labels = {"jobset.sigs.k8s.io/jobset-name": "train", "jobset.sigs.k8s.io/replicatedjob-name": job}
        owner = [{"apiVersion": "batch/v1", "kind": "Job", "name": f"train-{job}-0", "uid": "u", "controller": True}]
        return pod(name, labels=labels, ownerReferences=owner)

    def test_the_pods_of_all_its_jobs_start_together(self):
        """No job runs more pods at once than it has completions."""
        seen = snapshot_of(self.worker("a"), self.worker("b", "driver"), self.job_set())
        assert [(one.id, one.min_pods) for one in seen.gangs] == [("jobset/default/train", 7)]
        assert {one.gang for one in seen.pods} == {"jobset/default/train"}

    def test_jobs_that_have_succeeded_need_no_room_any_more(self):
        status = {
            "replicatedJobsStatus": [{"name": "workers", "ready": 0, "succeeded": 1, "failed": 0, "active": 1, "suspended": 0}]
        }
        assert least(snapshot_of(self.worker(), self.job_set(status))) == ("jobset/default/train", 4)

    @pytest.mark.parametrize("how", [{"startupPolicy": {"startupPolicyOrder": "InOrder"}}, {"depends": True}])
    def test_each_job_for_itself_where_one_waits_for_another(self, how: Object):
        """Else the first would wait for pods that are made only once it runs."""
        seen = snapshot_of(self.worker("a"), self.worker("b", "driver"), self.job_set(**how))
        assert [(one.id, one.min_pods) for one in seen.gangs] == [("jobset/default/train/workers", 6)]
        assert set_of(seen, "b").gang == ""  # one pod needs nobody

    def test_without_its_object_the_pods_are_told_to_belong_together(self):
        seen = snapshot_of(self.worker())
        assert least(seen) == ("jobset/default/train/workers", 1)
        assert "its pods do not say how many they are" in seen.warnings[0].text


class TestKubernetesOwn:
    def test_a_pod_names_its_pod_group(self):
        """scheduling.k8s.io/v1beta1 of Kubernetes 1.37."""
        group = thing("scheduling.k8s.io/v1beta1", "PodGroup", schedulingPolicy={"gang": {"minCount": 3}})
        seen = snapshot_of(pod("a", spec={"schedulingGroup": {"podGroupName": "train"}}), group)
        assert least(seen) == ("workload/default/train", 3)

    def test_a_group_without_the_gang_policy_is_none(self):
        group = thing("scheduling.k8s.io/v1beta1", "PodGroup", schedulingPolicy={"basic": {}})
        seen = snapshot_of(pod("a", spec={"schedulingGroup": {"podGroupName": "train"}}), group)
        assert (set_of(seen, "a").gang, seen.gangs, seen.warnings) == ("", (), ())

    def test_a_group_that_is_not_there_is_told_by_its_name_and_its_pods_belong_together(self):
        seen = snapshot_of(*(pod(name, spec={"schedulingGroup": {"podGroupName": "train"}}) for name in "ab"))
        assert least(seen) == ("workload/default/train", 1)
        assert set_of(seen, "a").names == ("a", "b")
        (warning,) = seen.warnings
        assert warning.code == Code.GANG_UNKNOWN
        assert "workload gang default/train has no object in the cluster" in warning.text


class TestWorkloadsOf135:
    """scheduling.k8s.io/v1alpha1 of Kubernetes 1.35: a pod names a Workload, a group of it, and which copy of that group."""

    GROUPS = (
        {"name": "driver", "policy": {"basic": {}}},
        {"name": "leader", "policy": {"gang": {"minCount": 1}}},
        {"name": "workers", "policy": {"gang": {"minCount": 4}}},
    )
    WORKLOAD = thing("scheduling.k8s.io/v1alpha1", "Workload", podGroups=list(GROUPS))

    def member(self, name: str = "a", group: str = "workers", replica: str = "", **meta: Any) -> Object:
        ref = {"name": "train", "podGroup": group} | ({"podGroupReplicaKey": replica} if replica else {})
        return pod(name, spec={"workloadRef": ref}, **meta)

    def test_a_pod_names_a_group_of_a_workload(self):
        seen = snapshot_of(self.member("a"), self.member("b"), self.WORKLOAD)
        assert least(seen) == ("workload/default/train/workers", 4)
        assert set_of(seen, "a").names == ("a", "b")
        assert seen.warnings == ()

    def test_each_copy_of_a_group_starts_for_itself(self):
        seen = snapshot_of(self.member("a", replica="0"), self.member("b", replica="1"), self.WORKLOAD)
        assert [(one.id, one.min_pods) for one in seen.gangs] == [
            ("workload/default/train/workers/0", 4),
            ("workload/default/train/workers/1", 4),
        ]
        assert set_of(seen, "a").gang == "workload/default/train/workers/0"

    @pytest.mark.parametrize("group", ["driver", "leader"])
    def test_a_group_without_the_gang_policy_or_of_one_pod_is_none(self, group: str):
        seen = snapshot_of(self.member(group=group), self.WORKLOAD)
        assert (set_of(seen, "a").gang, seen.gangs, seen.warnings) == ("", (), ())

    @pytest.mark.parametrize("others", [(), (WORKLOAD,)], ids=["no workload", "no such group"])
    def test_what_is_not_there_is_told_by_its_name_and_its_pods_are_not_taken_for_single_ones(self, others: tuple[Object, ...]):
        """The scheduler lets none of them start before it is there."""
        seen = snapshot_of(self.member(group="evaluators", replica="x"), *others)
        assert least(seen) == ("workload/default/train/evaluators/x", 1)
        (warning,) = seen.warnings
        assert warning.code == Code.GANG_UNKNOWN
        assert "workload gang default/train/evaluators/x has no object in the cluster: its pods do not say" in warning.text

    def test_one_of_another_namespace_is_another(self):
        seen = snapshot_of(self.member(namespace="prod"), self.WORKLOAD)
        assert [warning.code for warning in seen.warnings] == [Code.GANG_UNKNOWN]

    def test_a_later_workload_is_what_pod_groups_are_made_from_and_no_gang(self):
        templates = [{"name": "workers", "schedulingPolicy": {"gang": {"minCount": 4}}}]
        later = thing("scheduling.k8s.io/v1beta1", "Workload", podGroupTemplates=templates)
        group = thing("scheduling.k8s.io/v1beta1", "PodGroup", schedulingPolicy={"gang": {"minCount": 3}})
        seen = snapshot_of(pod("a", spec={"schedulingGroup": {"podGroupName": "train"}}), later, group)
        assert least(seen) == ("workload/default/train", 3)


class TestCompositePodGroups:
    """scheduling.k8s.io/v1alpha3 of Kubernetes 1.37: PodGroups in groups of which so many start together."""

    def composite(self, name: str, least: int = 0, parent: str = "") -> Object:
        policy = {"gang": {"minGroupCount": least}} if least else {"basic": {}}
        found = thing("scheduling.k8s.io/v1alpha3", "CompositePodGroup", name, schedulingPolicy=policy)
        found["spec"] |= {"parentCompositePodGroupName": parent} if parent else {}
        return found

    def group(self, name: str, least: int = 0, parent: str = "all") -> tuple[Object, Object]:
        """With a pod of its name."""
        policy = {"gang": {"minCount": least}} if least else {"basic": {}}
        group = thing(
            "scheduling.k8s.io/v1beta1", "PodGroup", name, schedulingPolicy=policy, parentCompositePodGroupName=parent
        )
        return group, pod(name, spec={"schedulingGroup": {"podGroupName": name}})

    def test_all_pods_of_the_groups_that_it_needs_start_together(self):
        seen = snapshot_of(*self.group("head"), *self.group("workers", 4), self.composite("all", 2))
        assert [(one.id, one.min_pods) for one in seen.gangs] == [("workload/default/compositepodgroup/all", 5)]
        assert {one.gang for one in seen.pods} == {"workload/default/compositepodgroup/all"}
        assert seen.warnings == ()

    def test_of_more_groups_than_it_needs_the_smallest_are_enough(self):
        groups = [*self.group("a", 5), *self.group("b", 3), *self.group("c", 4)]
        (found,) = snapshot_of(*groups, self.composite("all", 2)).gangs
        assert found.min_pods == 7

    @pytest.mark.parametrize("least_groups", [0, 1])
    def test_where_it_needs_no_two_of_them_each_group_is_for_itself(self, least_groups: int):
        seen = snapshot_of(*self.group("a", 5), *self.group("b"), self.composite("all", least_groups))
        assert [(one.id, one.min_pods) for one in seen.gangs] == [("workload/default/a", 5)]
        assert (set_of(seen, "b").gang, seen.warnings) == ("", ())

    def test_the_outermost_that_needs_several_counts_and_all_within_it(self):
        tree = [
            self.composite("root"), self.composite("all", 2, "root"),
            self.composite("left", 2, "all"), self.composite("right", 0, "all"),
        ]  # fmt: skip
        groups = [*self.group("a", 2, "left"), *self.group("b", 3, "left"), *self.group("c", 4, "right")]
        (found,) = snapshot_of(*tree, *groups).gangs
        assert (found.id, found.min_pods) == ("workload/default/compositepodgroup/all", 9)

    @pytest.mark.parametrize("parents", [(), (("all", "more"),), (("all", "more"), ("more", "all"))])
    def test_one_that_is_missing_or_in_itself_is_told_and_nothing_smaller_starts(self, parents: tuple[tuple[str, str], ...]):
        seen = snapshot_of(*self.group("a", 4), *(self.composite(name, 1, parent) for name, parent in parents))
        missing = "more" if len(parents) == 1 else "all"
        assert least(seen) == (f"workload/default/compositepodgroup/{missing}", 4)
        (warning,) = seen.warnings
        assert warning.code == Code.GANG_UNKNOWN
        assert f"compositepodgroup/{missing} has no object in the cluster: its groups ask for 4 pods and more" in warning.text

    @pytest.mark.feature("RS-06")
    def test_ten_thousand_in_each_other_end_nothing(self):
        chain = [self.composite(f"c{n}", 2, f"c{n - 1}" if n else "") for n in range(10_000)]
        assert least(snapshot_of(*chain, *self.group("a", 4, "c9999"))) == ("workload/default/compositepodgroup/c0", 4)


class TestProvisioningRequests:
    @pytest.mark.parametrize(
        "key",
        ["autoscaling.x-k8s.io/consume-provisioning-request", "cluster-autoscaler.kubernetes.io/consume-provisioning-request"],
    )
    def test_pods_that_consume_one_start_together(self, key: str):
        sets = [{"podTemplateRef": {"name": "small"}, "count": 2}, {"podTemplateRef": {"name": "large"}, "count": 4}]
        asked = thing(
            "autoscaling.x-k8s.io/v1", "ProvisioningRequest", podSets=sets, provisioningClassName="best-effort-atomic"
        )
        assert least(snapshot_of(pod("a", annotations={key: "train"}), asked)) == ("provisioning/default/train", 6)


def test_a_pod_of_no_gang_is_in_none():
    seen = snapshot_of(pod("a", labels={"app": "web"}))
    assert (set_of(seen, "a").gang, seen.gangs) == ("", ())


def test_what_the_scheduler_itself_is_told_comes_first():
    """A pod that Kueue queues, a JobSet made and a PodGroup holds together is one pod of one gang."""
    labels = {
        "scheduling.x-k8s.io/pod-group": "train",
        "jobset.sigs.k8s.io/jobset-name": "s",
        "kueue.x-k8s.io/pod-group-name": "k",
    }
    seen = snapshot_of(pod("a", labels=labels), TestCoscheduling.GROUP)
    assert set_of(seen, "a").gang == "coscheduling/default/train"
