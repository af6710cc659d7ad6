"""What the volumes of a pod ask of its node, as kube-scheduler 1.37 judges them."""

from typing import Any

import pytest

from spillway.model.reason import Code
from spillway.model.selector import NodeSelectorTerm, Requirement
from spillway.model.volumes import VolumeNeed
from tests.kube.objects import Object, pod, shape_of, snapshot_of
from tests.kube.storage_objects import (
    EBS,
    EBS_ZONE,
    ZONE,
    allowed,
    claim,
    csi_node,
    ephemeral,
    free,
    in_zones,
    mounts,
    storage_class,
    volume,
)

pytestmark = pytest.mark.feature("CS-08")

REGION = "topology.kubernetes.io/region"
BETA_ZONE, BETA_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"


def needs(*objects: Object, spec: Object | None = None, **meta: Any) -> tuple[VolumeNeed, ...]:
    """Of a pod that mounts the claim `data`, in a cluster of `objects`."""
    return shape_of(pod(spec=spec or mounts("data"), **meta), *objects).volumes


def need(*objects: Object, **given: Any) -> VolumeNeed:
    (one,) = needs(*objects, **given)
    return one


def places(*objects: Object, **given: Any) -> list[str] | None:
    """Each term as `key=value|value and …`; None for anywhere."""
    terms = need(*objects, **given).terms
    return None if terms is None else [" and ".join(map(_show, (*term.expressions, *term.fields))) for term in terms]


def _show(one: Requirement) -> str:
    key = one.key.rpartition("/")[2] if one.key in (ZONE, REGION) else one.key
    return f"{key}={'|'.join(one.values)}" if one.operator == "In" else f"{one.operator} {key}"


class TestABoundClaim:
    def test_ties_the_pod_to_the_zone_of_its_volume(self):
        bound = need(claim(volume="pv-1"), volume(spec={"nodeAffinity": in_zones("us-east-1b")}))
        assert bound == VolumeNeed(
            driver=EBS,
            terms=(NodeSelectorTerm(expressions=(Requirement(key=ZONE, operator="In", values=("us-east-1b",)),)),),
        )

    def test_may_have_several_terms_of_which_one_must_hold(self):
        shared = volume(spec={"nodeAffinity": in_zones("us-east-1b", "us-east-1a")})
        assert places(claim(volume="pv-1"), shared) == ["zone=us-east-1a", "zone=us-east-1b"]

    def test_may_speak_of_the_drivers_own_zone_label(self):
        assert places(claim(volume="pv-1"), volume(spec={"nodeAffinity": in_zones("us-east-1b", key=EBS_ZONE)})) == [
            f"{EBS_ZONE}=us-east-1b"
        ]

    def test_with_a_volume_for_all_nodes_goes_anywhere(self):
        assert need(claim(volume="pv-1"), volume()) == VolumeNeed(driver=EBS)

    def test_of_a_volume_that_is_no_attachment_asks_for_nothing(self):
        on_nfs = volume(spec={"csi": None, "nfs": {"server": "10.0.0.9", "path": "/"}})
        assert needs(claim(volume="pv-1"), on_nfs) == ()

    def test_whose_affinity_has_no_terms_goes_nowhere(self):
        nowhere = volume(spec={"nodeAffinity": {"required": {"nodeSelectorTerms": []}}})
        assert need(claim(volume="pv-1"), nowhere).terms == ()

    def test_needs_no_class(self):
        bound = claim(volume="pv-1", storage_class="gone")
        assert need(bound, volume(spec={"nodeAffinity": in_zones("us-east-1b")})).problem == ""

    def test_that_only_its_phase_calls_bound_is(self):
        bound = claim(volume="pv-1", annotations={})
        assert need(bound, volume()).problem == ""

    @pytest.mark.parametrize("phase", ["Pending", ""])
    def test_that_names_a_volume_is_not_bound_until_the_controller_says_so(self, phase: str):
        prebound = claim(volume="pv-1", annotations={}, phase=phase or "Pending")
        assert need(prebound, volume(), storage_class()).problem == "its PersistentVolumeClaim is not bound yet"

    def test_whose_volume_is_gone_is_a_reason(self):
        assert need(claim(volume="pv-1"), storage_class()).problem == "the PersistentVolume of its claim is gone"


class TestZoneLabelsOfAVolume:
    """As the VolumeZone plugin reads them: a node that has none of these labels is left alone."""

    NONE = " and ".join(f"DoesNotExist {key}" for key in (BETA_ZONE, BETA_REGION, "zone", "region"))

    def test_hold_beside_its_affinity(self):
        labelled = volume(labels={ZONE: "us-east-1b"}, spec={"nodeAffinity": in_zones("us-east-1b", key=EBS_ZONE)})
        assert places(claim(volume="pv-1"), labelled) == [
            f"{EBS_ZONE}=us-east-1b and {self.NONE}",
            f"{EBS_ZONE}=us-east-1b and zone=us-east-1b",
        ]

    def test_may_be_a_set(self):
        labelled = volume(labels={ZONE: "us-east-1b__us-east-1a", REGION: "us-east-1"})
        assert places(claim(volume="pv-1"), labelled) == ["zone=us-east-1a|us-east-1b and region=us-east-1", self.NONE]

    def test_of_the_old_name_are_asked_by_the_new_one_where_a_node_lacks_the_old(self):
        assert places(claim(volume="pv-1"), volume(labels={BETA_ZONE: "us-east-1b"})) == [
            f"{BETA_ZONE}=us-east-1b",
            f"DoesNotExist {BETA_ZONE} and zone=us-east-1b",
            self.NONE,
        ]

    def test_that_do_not_read_are_passed_over(self):
        assert places(claim(volume="pv-1"), volume(labels={ZONE: "us-east-1b__"})) is None


class TestAClaimThatIsNotBound:
    def test_of_a_class_that_waits_goes_anywhere(self):
        assert need(claim(), storage_class()) == VolumeNeed(driver=EBS)

    def test_goes_where_the_class_allows_by_any_of_its_terms(self):
        two = storage_class(allowedTopologies=[allowed(zone=["us-east-1b"]), allowed(zone=["us-east-1c", "us-east-1a"])])
        assert places(claim(), two) == ["zone=us-east-1a|us-east-1c", "zone=us-east-1b"]

    def test_whose_volume_is_being_made_goes_where_that_is(self):
        chosen = claim(annotations={"volume.kubernetes.io/selected-node": "n7"})
        assert places(chosen, storage_class()) == ["metadata.name=n7"]
        zoned = storage_class(allowedTopologies=[allowed(zone=["us-east-1b"])])
        assert places(chosen, zoned) == ["zone=us-east-1b and metadata.name=n7"]

    def test_that_names_its_class_by_the_old_annotation_has_that_one(self):
        old = claim(annotations={"volume.beta.kubernetes.io/storage-class": "gp3"}, storage_class="gone")
        assert need(old, storage_class()).problem == ""

    @pytest.mark.parametrize(
        ("found", "problem"),
        [
            ([], "its PersistentVolumeClaim is missing"),
            ([claim(storage_class="")], "its PersistentVolumeClaim is not bound and names no StorageClass"),
            ([claim()], "its PersistentVolumeClaim is not bound and its StorageClass is missing"),
            ([claim(), storage_class(mode="Immediate")], "its PersistentVolumeClaim is not bound yet"),
            ([claim(phase="Lost"), storage_class()], "its PersistentVolumeClaim is Lost"),
            ([claim(volume="pv-1", phase="Lost"), storage_class()], "its PersistentVolumeClaim is Lost"),
            (
                [claim(deletionTimestamp="2026-01-01T00:00:00Z"), storage_class()],
                "its PersistentVolumeClaim is being deleted",
            ),
        ],
    )
    def test_that_cannot_be_met_is_a_reason(self, found: list[Object], problem: str):
        assert need(*found).problem == problem

    def test_of_an_unreadable_size_is_set_aside_by_name(self):
        broken = claim(spec={"resources": {"requests": {"storage": "much"}}})
        assert need(broken, storage_class()).problem == "its PersistentVolumeClaim is missing"
        (warning,) = snapshot_of(broken).warnings
        assert (warning.code, "persistentvolumeclaim default/data" in warning.text) == (Code.OBJECT_UNREADABLE, True)


class TestVolumesThatAreFree:
    """FindMatchingVolume: local disks, whose class makes none."""

    LOCAL = storage_class("local", provisioner="kubernetes.io/no-provisioner")

    def local(self, name: str = "pv-1", host: str = "n1", *, spec: Object | None = None, **meta: Any) -> Object:
        base: Object = {"storageClassName": "local", "nodeAffinity": in_zones(host, key="kubernetes.io/hostname")}
        return free(name, spec=base | {"csi": None, "local": {"path": "/disk"}} | (spec or {}), **meta)

    def where(self, *volumes: Object, spec: Object | None = None) -> list[str] | None:
        return places(claim(storage_class="local", spec=spec, uid="u1"), self.LOCAL, *volumes)

    def test_are_where_the_pod_may_go(self):
        found = self.where(self.local(), self.local("pv-2", "n2"))
        assert found == ["kubernetes.io/hostname=n1", "kubernetes.io/hostname=n2"]

    def test_none_is_a_reason(self):
        assert need(claim(storage_class="local"), self.LOCAL).problem == (
            "no PersistentVolume is free for its claim, and its class makes none"
        )

    @pytest.mark.parametrize(
        "spec",
        [
            {"capacity": {"storage": "9Gi"}},
            {"volumeMode": "Block"},
            {"accessModes": ["ReadOnlyMany"]},
            {"storageClassName": "other"},
            {"volumeAttributesClassName": "gold"},
            {"claimRef": {"namespace": "default", "name": "another"}},
            {"claimRef": {"namespace": "default", "name": "data", "uid": "u2"}},
        ],
    )
    def test_that_do_not_suit_the_claim_do_not_count(self, spec: Object):
        assert self.where(self.local(spec=spec), self.local("pv-2", "n2")) == ["kubernetes.io/hostname=n2"]

    def test_that_are_being_deleted_do_not_count(self):
        leaving = self.local(deletionTimestamp="2026-01-01T00:00:00Z")
        assert self.where(leaving, self.local("pv-2", "n2")) == ["kubernetes.io/hostname=n2"]

    def test_that_are_not_available_do_not_count(self):
        released = self.local() | {"status": {"phase": "Released"}}
        assert self.where(released, self.local("pv-2", "n2")) == ["kubernetes.io/hostname=n2"]

    def test_are_chosen_by_the_claims_selector(self):
        fast, slow = self.local(labels={"disk": "ssd"}), self.local("pv-2", "n2", labels={"disk": "hdd"})
        assert self.where(fast, slow, spec={"selector": {"matchLabels": {"disk": "ssd"}}}) == ["kubernetes.io/hostname=n1"]

    @pytest.mark.parametrize("uid", ["", "u1"])
    def test_one_that_is_kept_for_the_claim_goes_before_all_others(self, uid: str):
        kept = self.local(spec={"claimRef": {"namespace": "default", "name": "data", "uid": uid}})
        assert self.where(kept, self.local("pv-2", "n2")) == ["kubernetes.io/hostname=n1"]

    def test_stand_beside_what_the_class_can_make(self):
        both = storage_class(allowedTopologies=[allowed(zone=["us-east-1b"])])
        there = free(spec={"nodeAffinity": in_zones("us-east-1a")})
        assert places(claim(), both, there) == ["zone=us-east-1a", "zone=us-east-1b"]

    def test_for_all_nodes_are_anywhere(self):
        assert self.where(self.local(spec={"nodeAffinity": None}), self.local("pv-2", "n2")) is None


@pytest.mark.feature("SO-06")
class TestFreeVolumesForSeveral:
    """Those that no claim tells apart are counted together, and a claim names all that suit it."""

    LOCAL = TestVolumesThatAreFree.LOCAL

    def disk(self, name: str, size: str = "10Gi", host: str = "n1", **meta: Any) -> Object:
        spec = {"storageClassName": "local", "csi": None, "local": {"path": "/disk"}, "capacity": {"storage": size}}
        return free(name, spec=spec | {"nodeAffinity": in_zones(host, key="kubernetes.io/hostname")}, **meta)

    def waiting(self, name: str, size: str = "10Gi", **spec: Any) -> list[Object]:
        """A pod with a claim of its own."""
        asks = {"resources": {"requests": {"storage": size}}}
        return [pod(name, spec=mounts(name)), claim(name, storage_class="local", spec=asks | spec)]

    def choices(self, *objects: Object) -> dict[str, list[tuple[str, int]]]:
        """The hosts and the numbers of the volumes that each claim may take, by the name of its pod."""
        seen = snapshot_of(self.LOCAL, *objects)
        by_id = {one.id: ((one.terms or ())[0].expressions[0].values[0], one.count) for one in seen.free_volumes}
        by_shape = {shape.id: [by_id[one] for one in shape.volumes[0].free] for shape in seen.shapes}
        return {name: by_shape[pods.shape] for pods in seen.pods for name in pods.names}

    def test_are_counted_where_they_are(self):
        disks = [self.disk("a"), self.disk("b"), self.disk("c", host="n2")]
        assert sorted(self.choices(*disks, *self.waiting("p"))["p"]) == [("n1", 2), ("n2", 1)]

    def test_the_smallest_comes_first_and_what_is_too_small_not_at_all(self):
        disks = [self.disk("a", "30Gi", "n3"), self.disk("b", "10Gi", "n1"), self.disk("c", "20Gi", "n2")]
        found = self.choices(*disks, *self.waiting("p", "5Gi"), *self.waiting("q", "15Gi"))
        assert found == {"p": [("n1", 1), ("n2", 1), ("n3", 1)], "q": [("n2", 1), ("n3", 1)]}

    def test_those_that_one_claim_alone_may_take_are_apart(self):
        disks = [self.disk("a", labels={"disk": "ssd"}), self.disk("b", labels={"disk": "hdd"})]
        chosen = self.waiting("q", selector={"matchLabels": {"disk": "ssd"}})
        assert self.choices(*disks, *self.waiting("p")) == {"p": [("n1", 2)]}
        assert self.choices(*disks, *self.waiting("p"), *chosen) == {"p": [("n1", 1), ("n1", 1)], "q": [("n1", 1)]}

    def test_the_order_of_reading_means_nothing(self):
        objects = [self.LOCAL, self.disk("a"), self.disk("b", host="n2"), *self.waiting("p"), *self.waiting("q")]
        assert snapshot_of(*objects) == snapshot_of(*reversed(objects))

    def test_pods_that_may_take_the_same_are_one_shape(self):
        assert len(snapshot_of(self.LOCAL, self.disk("a"), *self.waiting("p"), *self.waiting("q")).shapes) == 1

    def test_a_claim_that_two_pods_share_is_known_by_its_name(self):
        seen = snapshot_of(self.LOCAL, self.disk("a"), *self.waiting("p"), pod("p-too", spec=mounts("p")))
        assert {one.volumes[0].shared for one in seen.shapes} == {"default/p"}

    def test_one_that_is_kept_for_a_claim_is_nobody_elses(self):
        kept = self.disk("a")
        kept["spec"]["claimRef"] = {"namespace": "default", "name": "p"}
        assert self.choices(kept, self.disk("b", host="n2"), *self.waiting("p"), *self.waiting("q")) == {
            "p": [],
            "q": [("n2", 1)],
        }

    def test_one_of_a_driver_will_be_attached_by_it(self):
        asked, csi = self.waiting("p"), free("a", spec={"storageClassName": "local", "nodeAffinity": in_zones("us-east-1a")})
        (shape,) = snapshot_of(self.LOCAL, csi, *asked).shapes
        assert [one.driver for one in shape.volumes] == [EBS]

    def test_a_class_that_makes_volumes_says_where_beside_them(self):
        makes = storage_class("local", allowedTopologies=[allowed(zone=["us-east-1b"])])
        (shape,) = snapshot_of(makes, self.disk("a"), *self.waiting("p")).shapes
        (one,) = shape.volumes
        assert (len(one.free), [term.expressions[0].values for term in one.made]) == (1, [("us-east-1b",)])
        (shape,) = snapshot_of(storage_class("local"), self.disk("a"), *self.waiting("p")).shapes
        assert shape.volumes == (VolumeNeed(driver=EBS),), "one can be made anywhere"


class TestWhoElseUsesIt:
    def test_a_claim_of_several_pods_is_known_by_its_volume(self):
        others = pod("web-1", node="n1", spec=mounts("data"))
        assert need(claim(volume="pv-1"), volume(), others).shared == f"{EBS}/vol-pv-1"

    def test_two_volumes_of_one_handle_are_one(self):
        other = [claim("more", volume="pv-2"), volume("pv-2", handle="vol-pv-1"), pod("web-1", node="n1", spec=mounts("more"))]
        assert need(claim(volume="pv-1"), volume(), *other).shared == f"{EBS}/vol-pv-1"

    def test_a_claim_of_one_pod_is_not(self):
        other = pod("web-1", node="n1", spec=mounts("more"))
        assert need(claim(volume="pv-1"), volume(), claim("more", volume="pv-2"), volume("pv-2"), other).shared == ""

    OTHERS = pod("web-1", spec=mounts("data"))

    def test_one_that_is_not_made_yet_will_be_where_the_first_of_its_pods_goes(self):
        assert need(claim(), storage_class(), self.OTHERS).first_decides == ZONE
        assert need(claim(), storage_class()).first_decides == "", "nobody else must follow"
        assert need(claim(volume="pv-1"), volume(), storage_class(), self.OTHERS).first_decides == ""

    def test_once_its_node_is_chosen_that_says_where(self):
        chosen = claim(annotations={"volume.kubernetes.io/selected-node": "n1"})
        assert need(chosen, storage_class(), self.OTHERS).first_decides == ""

    @pytest.mark.parametrize(
        ("keys", "expected"), [([EBS_ZONE], EBS_ZONE), ([EBS_ZONE, ZONE], ZONE), (["example.com/rack"], ""), (None, "")]
    )
    def test_nodes_tell_whether_a_driver_keeps_to_zones(self, keys: list[str] | None, expected: str):
        told = csi_node(**{"nfs.example.com": None})
        told["spec"]["drivers"][0]["topologyKeys"] = keys
        made = storage_class(provisioner="nfs.example.com")
        assert need(claim(), made, self.OTHERS, told).first_decides == expected

    def test_pods_whose_volumes_are_alike_are_one_shape(self):
        zone = {"nodeAffinity": in_zones("us-east-1b")}
        seen = snapshot_of(
            *(pod(f"db-{i}", spec=mounts(f"data-{i}")) for i in range(3)),
            *(claim(f"data-{i}", volume=f"pv-{i}") for i in range(3)),
            *(volume(f"pv-{i}", spec=zone) for i in range(3)),
        )
        assert [len(pods.names) for pods in seen.pods] == [3]

    def test_read_write_once_pod_is_for_one_pod_alone(self):
        alone = need(claim(volume="pv-1", spec={"accessModes": ["ReadWriteOncePod"]}), volume())
        assert (alone.exclusive, alone.shared) == (True, "")

    def test_and_two_that_want_it_are_told(self):
        once = claim(volume="pv-1", spec={"accessModes": ["ReadWriteOncePod"]})
        wanted = need(once, volume(spec={"csi": None}), pod("web-1", spec=mounts("data")))
        assert (wanted.exclusive, wanted.shared) == (True, "default/data")

    @pytest.mark.parametrize("deleted", [{}, {"deletionTimestamp": "2026-01-01T00:00:30Z"}])
    def test_who_waits_for_what_a_pod_on_a_node_has_to_itself_waits_until_that_is_gone(self, deleted: Object):
        objects = [claim(volume="pv-1", spec={"accessModes": ["ReadWriteOncePod"]}), volume()]
        holder = pod("web-1", node="n1", spec=mounts("data"), **deleted)
        assert need(*objects, holder).problem == "another pod has it to itself"
        (holds,) = shape_of(holder, pod(spec=mounts("data")), *objects).volumes
        assert (holds.exclusive, holds.problem) == (True, "")

    def test_one_volume_by_two_claims_is_attached_once_and_must_suit_both(self):
        twice = needs(
            claim(volume="pv-1"),
            claim("again", volume="pv-2"),
            volume(spec={"nodeAffinity": in_zones("us-east-1a")}),
            volume("pv-2", handle="vol-pv-1", spec={"nodeAffinity": in_zones("us-east-1b")}),
            spec=mounts("data", "again"),
        )
        assert sorted(one.driver for one in twice) == ["", EBS]
        assert all(one.terms for one in twice)


class TestEphemeralVolumes:
    def owned(self, uid: str, **fields: Any) -> Object:
        owner = {"apiVersion": "v1", "kind": "Pod", "name": "web-0", "uid": uid, "controller": True}
        return claim("web-0-scratch", ownerReferences=[owner], **fields)

    def test_have_a_claim_of_the_pods_own(self):
        zoned = storage_class(allowedTopologies=[allowed(zone=["us-east-1b"])])
        assert places(self.owned("u1"), zoned, spec=ephemeral(), uid="u1") == ["zone=us-east-1b"]

    def test_wait_for_it_to_be_made(self):
        problem = need(storage_class(), spec=ephemeral(), uid="u1").problem
        assert problem == "the claim of its ephemeral volume is not made yet"

    def test_do_not_take_another_pods(self):
        problem = need(self.owned("u2"), storage_class(), spec=ephemeral(), uid="u1").problem
        assert problem == "the claim of its ephemeral volume is another pod's"

    def test_are_not_asked_for_their_zone_labels(self):
        bound = self.owned("u1", volume="pv-1")
        assert places(bound, volume(labels={ZONE: "us-east-1b"}), spec=ephemeral(), uid="u1") is None


class TestVolumesOfTheOldKind:
    """In-tree EBS, which its CSI driver serves."""

    @pytest.mark.parametrize("written", ["vol-0a", "aws://us-east-1b/vol-0a", "aws:///vol-0a"])
    def test_a_bound_one_is_attached_by_the_driver(self, written: str):
        old = volume(spec={"csi": None, "awsElasticBlockStore": {"volumeID": written}, "nodeAffinity": in_zones("us-east-1b")})
        found = need(claim(volume="pv-1"), old, pod("web-1", spec=mounts("data")))
        assert (found.driver, found.shared) == (EBS, f"{EBS}/vol-0a")

    def test_one_to_be_made_is_made_by_the_driver(self):
        assert need(claim(), storage_class(provisioner="kubernetes.io/aws-ebs")).driver == EBS

    def test_one_without_a_claim_that_another_pod_names_is_one_pods_of_a_node(self):
        written = "aws://us-east-1b/vol-0a"
        disk = {"volumes": [{"name": "d", "awsElasticBlockStore": {"volumeID": written}}]}
        wanted = VolumeNeed(driver=EBS, shared=f"{EBS}/vol-0a", disk=written)
        assert need(pod("web-1", spec=disk), spec=disk) == wanted
        assert need(pod("web-1", node="n1", spec=disk), spec=disk) == wanted
        assert need(spec=disk) == VolumeNeed(driver=EBS)

    def test_an_id_that_is_none_is_a_reason(self):
        disk = {"volumes": [{"name": "d", "awsElasticBlockStore": {"volumeID": "aws://us-east-1b/x/y"}}]}
        assert need(spec=disk).problem == "the id of its EBS volume does not read"

    def test_an_inline_volume_of_a_csi_driver_asks_for_nothing(self):
        inline = {"volumes": [{"name": "s", "csi": {"driver": "secrets-store.csi.k8s.io"}}]}
        assert needs(spec=inline) == ()
