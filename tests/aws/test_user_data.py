"""User data in the forms of EKS's images, and in forms that are none."""

import base64
import gzip

import pytest

from spillway.aws import user_data
from spillway.aws.kubelet import Settings
from spillway.model.cluster import Taint
from spillway.model.policy import ImageFamily

BOMB = "a: &a [x, x]\nb: &b [*a, *a]\n" + "\n".join(
    f"{chr(99 + n)}: &{chr(99 + n)} [*{chr(98 + n)}, *{chr(98 + n)}]" for n in range(20)
)
CONFIG = "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {{kubelet: {{config: {{{}}}}}}}\n"


def read(text: str | bytes) -> Settings:
    return user_data.read(base64.b64encode(text if isinstance(text, bytes) else text.encode()).decode())


@pytest.mark.parametrize("text", ["", "#!/bin/sh\necho hi\n", "#cloud-config\npackages: [jq]\n", "\x00\xff binary", "{"])
def test_what_is_none_of_them_tells_nothing(text: str) -> None:
    assert read(text) == Settings()


def test_it_may_be_packed() -> None:
    assert read(gzip.compress(CONFIG.format("maxPods: 12").encode())).max_pods == 12


def test_several_node_configs_are_one_the_last_word_wins() -> None:
    found = read(CONFIG.format("maxPods: 12, kubeReserved: {cpu: 100m}") + "---\n" + CONFIG.format("maxPods: 20"))

    assert (found.family, found.max_pods, found.kube_reserved) == (ImageFamily.AL2023, 20, {"cpu": "100m"})


@pytest.mark.parametrize(
    "arguments",
    ["--kubelet-extra-args '--max-pods=40 --node-labels=a=b'", '--kubelet-extra-args="--max-pods 40 --node-labels a=b"'],
)
def test_arguments_of_bootstrap_are_read_however_they_are_quoted(arguments: str) -> None:
    found = read(f"#!/bin/bash\nset -e\n/etc/eks/bootstrap.sh prod {arguments} --apiserver-endpoint https://x\n")

    assert (found.family, found.max_pods, found.labels) == (ImageFamily.AL2, 40, {"a": "b"})


def test_taints_may_lack_their_value() -> None:
    found = read("/etc/eks/bootstrap.sh prod --kubelet-extra-args --register-with-taints=gpu:NoSchedule,a=b:NoExecute")

    assert found.taints == (Taint(key="gpu", effect="NoSchedule"), Taint(key="a", value="b", effect="NoExecute"))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (CONFIG.format("maxPods: ["), "its NodeConfig is no YAML"),
        ("[settings.kubernetes]\nmax-pods = 9" + "9" * 5000, "its settings are no TOML"),
        ("/etc/eks/bootstrap.sh 'prod", "are not closed"),
        ('/etc/eks/bootstrap.sh prod --kubelet-extra-args "--node-labels=\'a"', "are not closed"),
        (CONFIG.format("kubeReserved: {memory: lots}"), "kube-reserved of memory"),
        (CONFIG.format("evictionHard: {memory.available: a%}"), "eviction-hard of memory.available"),
        (b"\x1f\x8b not gzip", "neither base64 nor packed by gzip"),
    ],
)
def test_what_does_not_read_says_where(text: str | bytes, problem: str) -> None:
    with pytest.raises(user_data.Unreadable, match=problem):
        read(text)


@pytest.mark.parametrize(
    "field", ["maxPods: *v", "registerWithTaints: [{key: *v, effect: NoExecute}]", "kubeReserved: {cpu: *v}"]
)
def test_a_list_that_stands_for_millions_is_not_written_out(field: str) -> None:
    text = f"{BOMB}\n{CONFIG.format(field)}"

    if "Reserved" in field:
        with pytest.raises(user_data.Unreadable, match="kube-reserved of cpu: '' is no quantity"):
            read(text)
    else:
        assert [taint.key for taint in read(text).taints] in ([], [""])
