"""PodTemplates: of what the pods of CapacityBuffers and ProvisioningRequests would be made."""

import msgspec
from msgspec import Raw

from spillway.kube import fields
from spillway.kube.recipes import Template, shape_of_template


class _PodTemplate(fields.Part):
    metadata: fields.BareMeta
    template: Raw = fields.ABSENT


_pod_template = msgspec.json.Decoder(_PodTemplate)


def read(raw: Raw | bytes) -> tuple[tuple[str, str], Template]:
    found = _pod_template.decode(raw)
    key = found.metadata.key
    return key, shape_of_template(key[0], found.template, "")
