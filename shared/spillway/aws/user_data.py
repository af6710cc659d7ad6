"""What user data tells a kubelet, in the three forms of EKS's images: NodeConfig, bootstrap.sh, Bottlerocket's settings.

Nothing else of it is looked at. Sources: awslabs/amazon-eks-ami, nodeadm/doc/api.md and templates/al2/runtime/bootstrap.sh;
bottlerocket.dev, settings/kubernetes; cloud-init, explanation/format.
"""

import base64
import binascii
import re
import shlex
import tomllib
import zlib
from collections.abc import Iterable, Iterator, Mapping
from email import message_from_bytes
from functools import lru_cache
from typing import Any

from spillway.aws.kubelet import Settings, threshold
from spillway.model import quantity
from spillway.model.cluster import Taint
from spillway.model.policy import ImageFamily

_NODEADM, _BOOTSTRAP = "node.eks.aws/", "/etc/eks/bootstrap.sh"
_LARGEST = 1024 * 1024  # unpacked; EC2 takes 16 KiB, packed or not
_LARGEST_NUMBER = 2**63
_GZIP = 16 + zlib.MAX_WBITS
_HUGEPAGES = re.compile(r"\bvm\.nr_hugepages\s*=\s*[\"']?(\d{1,9})\b")
_HUGEPAGE_MIB = 2  # the default size of x86_64, and of arm64 with pages of 4 KiB
_RAID = ("raid0", "raid10")


class Unreadable(ValueError):
    """In which form it is, and what is wrong with it: one sentence."""


@lru_cache(maxsize=4096)
def read(encoded: str) -> Settings:
    """Settings of base64 text; of a form that is none of the three, nothing. Raises Unreadable."""
    found = Settings()
    try:
        for part in _parts(_unpacked(encoded)):
            found = _of_part(part.decode("utf-8", "replace")).over(found)
    except RecursionError as error:
        raise Unreadable("it is nested too deep") from error
    for name, amounts in (("kube-reserved", found.kube_reserved), ("system-reserved", found.system_reserved)):
        for resource, amount in amounts.items():
            try:
                quantity.amount(resource, amount)
            except quantity.QuantityError as error:
                raise Unreadable(f"{name} of {resource}: {error}") from error
    for signal, limit in found.eviction_hard.items():
        try:
            threshold(limit, 0)
        except quantity.QuantityError as error:
            raise Unreadable(f"eviction-hard of {signal}: {error}") from error
    return found


def _unpacked(encoded: str) -> bytes:
    try:
        raw = base64.b64decode(encoded, validate=False)
        return zlib.decompressobj(_GZIP).decompress(raw, _LARGEST) if raw.startswith(b"\x1f\x8b") else raw
    except (binascii.Error, ValueError, zlib.error) as error:
        raise Unreadable(f"it is neither base64 nor packed by gzip: {error}") from error


def _parts(raw: bytes) -> Iterator[bytes]:
    """The parts of a MIME archive, or the whole."""
    head = raw.lstrip()[:200].lower()
    if not head.startswith((b"mime-version:", b"content-type: multipart")):
        yield raw
        return
    for part in message_from_bytes(raw.lstrip()).walk():
        content = part.get_payload(decode=True)
        if isinstance(content, bytes):
            yield content


def _of_part(text: str) -> Settings:
    if f"apiVersion: {_NODEADM}" in text or f'"apiVersion": "{_NODEADM}' in text:
        return _of_nodeadm(text)
    if _BOOTSTRAP in text:
        return _of_bootstrap(text)
    if re.search(r"^\s*\[?settings\.", text, re.MULTILINE) and not text.startswith("#!"):
        return _of_bottlerocket(text)
    return Settings(hugepages=_hugepages(text))


def _of_nodeadm(text: str) -> Settings:
    import yaml  # comes with kubernetes; only groups with such user data need it

    found = Settings(family=ImageFamily.AL2023)
    try:
        documents = [one for one in yaml.safe_load_all(text) if isinstance(one, Mapping)]
    except (yaml.YAMLError, ValueError) as error:
        raise Unreadable(f"its NodeConfig is no YAML: {str(error).splitlines()[0]}") from error
    for document in documents:
        if document.get("kind") != "NodeConfig":
            continue
        spec = _mapping(document.get("spec"))
        kubelet, storage = _mapping(spec.get("kubelet")), _mapping(_mapping(spec.get("instance")).get("localStorage"))
        config = _mapping(kubelet.get("config"))
        said = Settings(
            max_pods=_count(config.get("maxPods")),
            kube_reserved=_texts(config.get("kubeReserved")),
            system_reserved=_texts(config.get("systemReserved")),
            eviction_hard=_texts(config.get("evictionHard")),
            instance_store=_text(storage.get("strategy")).lower() in _RAID,
            taints=tuple(_taint(one) for one in _list(config.get("registerWithTaints")) if isinstance(one, Mapping)),
        )
        found = _of_flags(_flags(map(_text, _list(kubelet.get("flags"))))).over(said).over(found)
    return found


def _of_bootstrap(text: str) -> Settings:
    """Arguments of the last call of the script."""
    line = text.replace("\\\n", " ").rpartition(_BOOTSTRAP)[2].partition("\n")[0]
    try:
        words = shlex.split(line, comments=True)
    except ValueError as error:
        raise Unreadable(f"the arguments of {_BOOTSTRAP} are not closed: {error}") from error
    arguments = _arguments(words)
    said = Settings(
        family=ImageFamily.AL2,
        max_pods_unset=arguments.get("use-max-pods") == "false",
        instance_store=arguments.get("local-disks") in _RAID,
        hugepages=_hugepages(text),
    )
    try:
        return _of_flags(_flags(shlex.split(arguments.get("kubelet-extra-args", "")))).over(said)
    except ValueError as error:
        raise Unreadable(f"--kubelet-extra-args of {_BOOTSTRAP} are not closed: {error}") from error


def _of_bottlerocket(text: str) -> Settings:
    try:
        settings = _mapping(tomllib.loads(text).get("settings"))
    except ValueError as error:  # also of a number with too many digits
        raise Unreadable(f"its settings are no TOML: {error}") from error
    kubernetes, sysctl = _mapping(settings.get("kubernetes")), _mapping(_mapping(settings.get("kernel")).get("sysctl"))
    taints = [
        _taint_of(f"{key}={_text(value)}")
        for key, values in _mapping(kubernetes.get("node-taints")).items()
        for value in (values if isinstance(values, list) else [values])
    ]
    return Settings(
        family=ImageFamily.BOTTLEROCKET,
        max_pods=_count(kubernetes.get("max-pods")),
        kube_reserved=_texts(kubernetes.get("kube-reserved")),
        system_reserved=_texts(kubernetes.get("system-reserved")),
        eviction_hard=_texts(kubernetes.get("eviction-hard")),
        hugepages=_hugepages(f"vm.nr_hugepages={_text(sysctl.get('vm.nr_hugepages'))}"),
        labels=_texts(kubernetes.get("node-labels")),
        taints=tuple(taints),
    )


def _arguments(words: Iterable[str]) -> dict[str, str]:
    """`--name value`, whatever the value looks like, and `--name=value`."""
    found, rest = dict[str, str](), iter(words)
    for word in rest:
        if word.startswith("--"):
            name, given, value = word[2:].partition("=")
            found[name] = value if given else next(rest, "")
    return found


def _flags(words: Iterable[str]) -> dict[str, str]:
    """`--name=value` and `--name value`, the last of each."""
    found: dict[str, str] = {}
    name = ""
    for word in words:
        if word.startswith("--"):
            name, given, value = word[2:].partition("=")
            found[name] = value
            name = "" if given else name
        elif name:
            found[name], name = word, ""
    return found


def _of_flags(flags: Mapping[str, str]) -> Settings:
    """Of the kubelet: kubernetes/kubernetes, cmd/kubelet/app/options/options.go."""
    taints = filter(None, flags.get("register-with-taints", "").split(","))
    return Settings(
        max_pods=_count(flags.get("max-pods")),
        kube_reserved=_pairs(flags.get("kube-reserved", ""), "="),
        system_reserved=_pairs(flags.get("system-reserved", ""), "="),
        eviction_hard=_pairs(flags.get("eviction-hard", ""), "<"),
        labels=_pairs(flags.get("node-labels", ""), "="),
        taints=tuple(_taint_of(text) for text in taints),
    )


def _taint_of(text: str) -> Taint:
    """`key=value:effect`, of which the value may be missing."""
    rest, _, effect = text.rpartition(":")
    key, _, value = rest.partition("=")
    return Taint(key=key, value=value, effect=effect)


def _taint(raw: Mapping[str, Any]) -> Taint:
    return Taint(key=_text(raw.get("key")), value=_text(raw.get("value")), effect=_text(raw.get("effect")))


def _pairs(text: str, mark: str) -> dict[str, str]:
    """`name=value,…`; what a shell would fill in (`$(…)`) is not known."""
    pairs = (pair.partition(mark) for pair in text.split(",") if mark in pair and "$" not in pair and "`" not in pair)
    return {key.strip(): value.strip() for key, _, value in pairs}


def _hugepages(text: str) -> dict[str, str]:
    found = _HUGEPAGES.findall(text)
    return {"hugepages-2Mi": f"{int(found[-1]) * _HUGEPAGE_MIB}Mi"} if found and int(found[-1]) else {}


def _count(value: object) -> int | None:
    text = _text(value)
    return int(text) if re.fullmatch(r"[1-9][0-9]{0,5}", text) else None


def _text(value: object) -> str:
    """Of a scalar; "" for lists and mappings, which may stand for more than memory holds, and for endless numbers."""
    if isinstance(value, int) and abs(value) >= _LARGEST_NUMBER:
        return ""
    return str(value) if isinstance(value, str | int | float) else ""


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _texts(value: object) -> dict[str, str]:
    return {_text(name): _text(amount) for name, amount in _mapping(value).items()}
