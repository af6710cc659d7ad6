"""EBS volumes of the in-tree plugin, which the CSI driver serves today.

Source: k8s.io/csi-translation-lib/plugins/aws_ebs.go. Migration cannot be switched off any more, so it counts as on. Where
such a volume names its zone by the standard label the scheduler asks for the driver's own. That has the same value on every
node that the driver serves, and the kubelet writes it before the node's CSINode names the driver (pkg/volume/csi/
nodeinfomanager, InstallCSIDriver); so its terms stay as they are.
"""

EBS_DRIVER = "ebs.csi.aws.com"
EBS_IN_TREE = "kubernetes.io/aws-ebs"


def ebs_volume_id(written: str) -> str:
    """Of `vol-…`, `aws://<zone>/vol-…` or `aws:///vol-…`; "" for what is no volume."""
    if not written.startswith("aws://"):
        return written
    _, _, path = written.removeprefix("aws://").partition("/")
    found = path.strip("/")
    return found if found.startswith("vol-") and "/" not in found else ""
